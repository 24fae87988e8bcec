use counterpoint_engine::api;
use std::sync::atomic::AtomicBool;
fn main() {
    let request = std::env::args().nth(1).unwrap();
    match api::run_many(&format!("{{\"runs\":[{request}]}}"), 1, &|_, _| {}, &AtomicBool::new(false)) {
        Ok(text) => println!("{text}"),
        Err(error) => println!("error: {error}"),
    }
}
