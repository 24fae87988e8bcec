//! The code for other simulators compiles: the gem5 memory against declarations of what it uses, the ChampSim bridge on
//! a channel like ChampSim's.

mod common;

use common::{archive, here, run};
use std::fs;
use std::path::Path;
use std::process::Command;

fn compiler() -> Command {
    let mut command = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".into()));
    command.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-I"]).arg(here("include"));
    command
}

#[test]
fn the_memory_of_gem5_compiles_against_what_it_uses() {
    let gem5 = here("../../integrations/gem5");
    let mut compiler = compiler();
    compiler.arg("-fsyntax-only").arg("-I").arg(here("tests/stubs/gem5")).arg("-I").arg(&gem5);
    run(compiler.arg(gem5.join("counterpoint/counterpoint_memory.cc")));
}

#[test]
fn the_bridge_of_champsim_answers_every_read_once() {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("champsim-bridge");
    let mut compiler = compiler();
    compiler.arg("-I").arg(here("../../integrations/champsim")).arg(here("tests/stubs/champsim/main.cpp"));
    run(compiler.arg(archive()).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program));
    let mut mounted = Command::new(&program);
    mounted.env_remove("COUNTERPOINT_DESIGN").env_remove("COUNTERPOINT_VARIANT").env("COUNTERPOINT_MACHINE", "small");
    assert_eq!(run(mounted.env("COUNTERPOINT_SET", " engine.bytes=false controller.wpq_entries=8 ")), "mounted");
    let refused = mounted.env("COUNTERPOINT_SET", "engine.byte=false").output().unwrap();
    let sentence = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && sentence.contains("did you mean 'engine.bytes'"), "{sentence}");
}

#[test]
fn the_client_of_the_documentation_runs() {
    let page = fs::read_to_string(here("../../docs/embedding.md")).unwrap();
    let client = page.split_once("```cpp\n").and_then(|(_, rest)| rest.split_once("```")).unwrap().0;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join("documented.cpp"), folder.join("documented"));
    fs::write(&source, client).unwrap();
    let mut compiler = compiler();
    run(compiler.arg(source).arg(archive()).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program));
    let told = run(&mut Command::new(program));
    for expected in ["write 1 of 0x1000 is durable at ", "read 2 of 0x1000 at ", "read 3 of 0x1000 at "] {
        let line = told.lines().find(|line| line.starts_with(expected));
        assert!(line.is_some_and(|line| line.contains("durable") || line.ends_with(": 42")), "{expected}: {told}");
    }
}
