//! Times the kernels: `cargo bench -p frazil-benches [-- NAME]`.

mod kernels;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn kernels(criterion: &mut Criterion) {
    for kernel in kernels::ALL {
        let mut group = criterion.benchmark_group(kernel.name);
        group.throughput(Throughput::Elements(kernel.size as u64)).sample_size(20);
        // Created once, and only for selected kernels.
        let mut work = None;
        group.bench_function(kernel.size.to_string(), |bencher| {
            bencher.iter(work.get_or_insert_with(|| (kernel.make)(kernel.size)));
        });
        group.finish();
    }
}

criterion_group!(benches, kernels);
criterion_main!(benches);
