//! The code for other simulators works: the gem5 memory in a small gem5, the ChampSim bridge in a controller like
//! ChampSim's. `make test-integrations` does the same with the real ones.

mod common;

use common::{archive, here, run};
use counterpoint_engine::config::Variant;
use counterpoint_engine::embed::{Memory, Setup};
use std::fs;
use std::path::Path;
use std::process::Command;

fn compiler() -> Command {
    let mut command = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".into()));
    command.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-I"]).arg(here("include"));
    command
}

#[test]
fn memory_of_gem5_runs_in_a_small_gem5() {
    let gem5 = here("../../integrations/gem5");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gem5");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("memory");
    let mut compiler = compiler();
    compiler.arg("-I").arg(here("tests/stubs/gem5")).arg("-I").arg(&gem5);
    compiler.arg(here("tests/stubs/gem5/main.cpp")).arg(gem5.join("counterpoint/counterpoint_memory.cc"));
    run(compiler.arg(archive()).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program));
    let told = run(Command::new(program).arg(&folder));
    assert_eq!(told.lines().count(), 13, "{told}");
}

/// The document in `text` that the bridge writes at the end.
fn statistics(text: &str) -> serde_json::Value {
    let documents: Vec<&str> = text.lines().filter(|line| line.starts_with('{')).collect();
    assert_eq!(documents.len(), 1, "one document, not one for each core: {text}");
    serde_json::from_str(documents[0]).unwrap()
}

#[test]
fn bridge_of_champsim_works_in_a_controller_like_champsims() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = folder.join("champsim-bridge");
    let mut compiler = compiler();
    compiler.arg("-I").arg(here("../../integrations/champsim")).arg(here("tests/stubs/champsim/main.cpp"));
    run(compiler.arg(archive()).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program));
    let capacity = |set: &[&str]| {
        let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
        let (variant, machine) = (Variant::Hardened, Some("small"));
        let setup = Setup { design: "secpm", variant, machine, set: &set, seed: 1, on_channel: [None; 2] };
        (Memory::new(&setup).unwrap().capacity() / 4096 * 4096).to_string()
    };
    let mounted = |set: &[&str]| {
        let mut command = Command::new(&program);
        for name in ["DESIGN", "VARIANT", "STATISTICS"] {
            command.env_remove(format!("COUNTERPOINT_{name}"));
        }
        let set = format!(" {} ", set.join("  "));
        command.env("COUNTERPOINT_MACHINE", "small").env("COUNTERPOINT_SET", set);
        command
    };
    let set = ["engine.bytes=false", "controller.wpq_entries=8"];
    let told = run(mounted(&set).arg(capacity(&set)));
    assert!(told.starts_with("mounted\n"), "ChampSim's report comes first: {told}");
    let found = statistics(&told);
    let (simulated, now) = (found["simulated_ns"].as_f64().unwrap(), found["now_ns"].as_f64().unwrap());
    assert_eq!(now - simulated, 1_000.0, "warm-up is not measured");
    // 4 GiB are not 2, and a bank that takes longer than 500 cycles of 250 ps is no deadlock.
    let set = ["device.capacity=4GiB", "device.t_wr_ns=3000", "device.t_rcd_ns=400", "controller.wpq_entries=4"];
    let large = capacity(&set);
    assert!(large.parse::<u64>().unwrap() > 3 << 30);
    let file = folder.join("champsim.json");
    let told = run(mounted(&set).arg(&large).env("COUNTERPOINT_STATISTICS", &file));
    assert_eq!(told, "mounted");
    assert_eq!(statistics(&fs::read_to_string(file).unwrap())["reads"]["count"], 400);
    let refused = mounted(&["engine.byte=false"]).arg("0").output().unwrap();
    let sentence = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && sentence.contains("did you mean 'engine.bytes'"), "{sentence}");
}

#[test]
fn client_of_the_documentation_runs() {
    let page = fs::read_to_string(here("../../docs/embedding.md")).unwrap();
    let blocks = page.split("```cpp\n").skip(1).filter_map(|rest| rest.split_once("```")).map(|(block, _)| block);
    let programs: Vec<&str> = blocks.filter(|block| block.contains("int main")).collect();
    let [of_c, of_cpp] = programs[..] else { panic!("the page has two programs and not {}", programs.len()) };
    let told = documented("documented", of_c);
    for expected in ["write 1 of 0x1000 is durable at ", "read 2 of 0x1000 at ", "read 3 of 0x1000 at "] {
        let line = told.lines().find(|line| line.starts_with(expected));
        assert!(line.is_some_and(|line| line.contains("durable") || line.ends_with(": 42")), "{expected}: {told}");
    }
    let told = documented("documented-hpp", of_cpp);
    assert!(told.trim_end().ends_with("\n0 lines damaged"), "{told}");
}

/// What a program of a page prints.
fn documented(name: &str, text: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join(name).with_extension("cpp"), folder.join(name));
    fs::write(&source, text).unwrap();
    let mut compiler = compiler();
    run(compiler.arg(source).arg(archive()).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program));
    run(&mut Command::new(program))
}
