mod encode;
mod java;
mod laws;
