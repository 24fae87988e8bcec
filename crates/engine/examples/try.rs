use counterpoint_engine::api;
use std::sync::atomic::AtomicBool;
fn main() {
    let request = std::env::args().nth(1).unwrap();
    let cancel = AtomicBool::new(false);
    let answer = if request.contains("\"crash\"") {
        api::crash(&request.replace("\"crash\":1,", ""), &|_, _| {}, &cancel)
    } else {
        api::run_many(&format!("{{\"runs\":[{request}]}}"), 2, &|_, _| {}, &cancel)
    };
    match answer {
        Ok(text) => println!("{text}"),
        Err(error) => println!("error: {error}"),
    }
}
