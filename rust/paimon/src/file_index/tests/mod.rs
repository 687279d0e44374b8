mod encode;
mod laws;
