//! A C++ client, linked with the static and with the shared library: the same event digest as with the Rust interface,
//! what survives a power failure, an error for every misuse. A client of the C++ header. The binary interface: symbols,
//! structures and their fields, as `abi.txt` lists them.

mod common;

use common::{archive, here, run};
use counterpoint_engine::LineSystem;
use counterpoint_engine::config::{self, Variant};
use counterpoint_engine::controller::Response;
use counterpoint_engine::design;
use counterpoint_engine::message::{BaseImage, Line, LineBytes, NoObserver};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

const LINES: u64 = 192;
const REQUESTS: u64 = 3_000;

fn compiler(source: &str) -> Command {
    let mut command = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".into()));
    let flags = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wredundant-decls", "-Werror", "-I"];
    command.args(flags).arg(here("include")).arg(here("tests").join(source));
    command
}

/// The folder of the shared library.
fn shared() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-client");
        fs::create_dir_all(&folder).unwrap();
        run(Command::new("sh").arg(here("link-shared.sh")).arg(archive()).arg(&folder));
        folder
    })
}

/// `source` linked with the static library, and linked with the shared library.
fn linked(source: &str) -> [PathBuf; 2] {
    let folder = shared();
    let [with_static, with_shared] = ["static", "shared"].map(|kind| folder.join(format!("{source}-{kind}")));
    run(compiler(source).arg(archive()).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&with_static));
    let rpath = format!("-Wl,-rpath,{}", folder.display());
    run(compiler(source).arg("-L").arg(folder).args(["-lcounterpoint", &rpath, "-o"]).arg(&with_shared));
    [with_static, with_shared]
}

/// The client linked with the static library, and the client linked with the shared library.
fn clients() -> &'static [PathBuf; 2] {
    static BUILT: OnceLock<[PathBuf; 2]> = OnceLock::new();
    BUILT.get_or_init(|| linked("client.cpp"))
}

/// Memory in which nothing was ever written.
struct Nothing;

impl BaseImage for Nothing {
    fn line(&self, _line: Line) -> Option<&LineBytes> {
        None
    }
    fn populated(&self, _line: Line) -> bool {
        false
    }
    fn end(&self) -> u64 {
        0
    }
}

fn pattern(line: u64, version: u64) -> LineBytes {
    let mut bytes = [(line * 31 + version * 7 + 1) as u8; 64];
    bytes[..8].copy_from_slice(&line.to_le_bytes());
    bytes[56..].copy_from_slice(&version.to_le_bytes());
    bytes
}

/// The digest of the client's trace, sent without the C interface.
fn digest_of_the_rust_path(name: &str) -> String {
    let machine = config::load_machine("small", &[]).unwrap();
    let design = design::find(name, Variant::Hardened).unwrap();
    let mut system = LineSystem::new(&machine, &design, Arc::new(Nothing), 5, NoObserver).unwrap();
    let mut state = 3_u64;
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let controller = &machine.controller;
    let limits = [controller.read_queue_entries, controller.wpq_entries, controller.counter_wpq_entries];
    // The token says which queue its request is in.
    let mut used = [0_u32; 3];
    let happen = |system: &mut LineSystem<NoObserver>, used: &mut [u32; 3]| {
        for response in system.advance().expect("an event is due") {
            match response {
                Response::Read { token, .. } => used[*token as usize] -= 1,
                Response::Written { token } => used[token.0 as usize] -= 1,
                _ => {}
            }
        }
    };
    let mut at = 0;
    for number in 0..REQUESTS {
        at += below(60_000);
        let (line, kind) = (below(LINES), below(5));
        if at > system.now() {
            while system.next_event_at().is_some_and(|next| next <= at) {
                happen(&mut system, &mut used);
            }
            system.wait_until(at);
        }
        let queue = [1, 1, 1, 0, 2][kind as usize];
        while used[queue] == limits[queue] {
            let next = system.next_event_at();
            while system.next_event_at() == next {
                happen(&mut system, &mut used);
            }
        }
        at = system.now();
        used[queue] += 1;
        let (line_number, token) = (Line(line), queue as u32);
        match kind {
            0 => system.write_counter_atomic(at, line_number, &pattern(line, number + 1), token),
            1 | 2 => system.write(at, line_number, &pattern(line, number + 1), token),
            3 => system.read(at, line_number, token),
            _ => system.write_back_counters(at, line_number, token),
        }
    }
    while system.next_event_at().is_some() {
        system.advance();
    }
    format!("{:016x}", system.digest())
}

#[test]
fn digest_is_that_of_the_rust_path() {
    let clients = clients();
    // The machine here has no modules.
    let runs_here = |name: &&str| design::find(name, Variant::Hardened).unwrap().modules.is_none();
    for name in design::names().filter(runs_here) {
        let expected = digest_of_the_rust_path(name);
        for client in clients {
            let found = run(Command::new(client).args(["trace", name, &REQUESTS.to_string()]));
            assert_eq!(found, expected, "{name} by {}", client.display());
        }
    }
}

#[test]
fn what_was_promised_survives_and_misuse_is_refused() {
    let clients = clients();
    for client in clients {
        for name in ["unencrypted", "secpm", "fca", "write-through", "co-located"] {
            assert_eq!(run(Command::new(client).args(["crash", name])), "survived");
        }
        assert_eq!(run(Command::new(client).arg("misuse")), "refused");
    }
}

#[test]
fn cpp_header_wraps_every_call() {
    for client in linked("wrapper.cpp") {
        assert_eq!(run(&mut Command::new(client)), "wrapped");
    }
    let header = without_comments(&fs::read_to_string(here("include/counterpoint.h")).unwrap());
    let wrapper = fs::read_to_string(here("include/counterpoint.hpp")).unwrap();
    // These are calls with fewer arguments of what the wrapper calls, or need no object.
    let others = ["send_read", "send_write", "send_counter_writeback", "version"];
    let missing: Vec<String> = names(&header, '(')
        .into_iter()
        .filter(|name| !wrapper.contains(name.as_str()))
        .filter(|name| !others.iter().any(|other| *name == format!("counterpoint_{other}")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// docs/embedding.md has the table of this program for the machine `secpm`.
#[test]
fn stream_of_writes_needs_lines_spread_over_banks() {
    let [program, _] = linked("streams.cpp");
    let table = run(Command::new(program).args(["secpm", "4000"]));
    let figures = |mapping: &str| -> Vec<f64> {
        let row = table.lines().find(|line| line.starts_with("secpm") && line.contains(mapping)).unwrap();
        row.split_whitespace().skip(2).map(|figure| figure.parse().unwrap()).collect()
    };
    let [lines, pages, contiguous] = ["line-interleaved", "page-interleaved", "bank-contiguous"].map(figures);
    assert!(lines[2] > 4.0 * pages[2] && pages[2] > 1.3 * contiguous[2], "{table}");
    assert!(pages[3] > 3.0 * lines[3], "{table}");
}

/// The names that `text` declares or lists: what follows each `counterpoint_` up to `end`.
fn names(text: &str, end: char) -> BTreeSet<String> {
    let starts = text.match_indices("counterpoint_").map(|(at, _)| &text[at..]);
    let named = |rest: &str| {
        let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        rest[name.len()..].starts_with(end).then_some(name)
    };
    starts.filter_map(named).collect()
}

/// A C text without its comments.
fn without_comments(text: &str) -> String {
    let (_, code) = text.split_once("*/").unwrap();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn header_version_script_and_library_have_the_same_names() {
    let header = without_comments(&fs::read_to_string(here("include/counterpoint.h")).unwrap());
    let declared = names(&header, '(');
    assert_eq!(names(&fs::read_to_string(here("counterpoint.map")).unwrap(), ';'), declared);
    let library = shared().join("libcounterpoint.so.1");
    let table = run(Command::new("nm").args(["--dynamic", "--defined-only", "--with-symbol-versions"]).arg(&library));
    let exported: BTreeSet<String> =
        table.lines().filter_map(|line| line.split_ascii_whitespace().nth(2)).map(str::to_owned).collect();
    let mut expected: BTreeSet<String> = declared.iter().map(|name| format!("{name}@@COUNTERPOINT_1")).collect();
    // The version node itself.
    let node = exported.iter().find(|name| name.trim_end_matches("@@COUNTERPOINT_1") == "COUNTERPOINT_1");
    expected.extend(node.cloned());
    assert_eq!(exported, expected);
    let dynamic = run(Command::new("readelf").arg("--dynamic").arg(&library));
    assert!(dynamic.contains("Library soname: [libcounterpoint.so.1]"), "{dynamic}");
}

#[test]
fn header_is_c() {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("header.c");
    fs::write(&source, "#include \"counterpoint.h\"\n").unwrap();
    let mut compiler = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()));
    let flags = ["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Wredundant-decls", "-Werror", "-fsyntax-only", "-I"];
    run(compiler.args(flags).arg(here("include")).arg(source));
}

/// The structures that `header` declares, with the names of their fields.
fn structures(header: &str) -> Vec<(String, Vec<String>)> {
    let bodies = header.split("typedef struct ").skip(1).filter_map(|rest| rest.split_once('{'));
    let structure = |(name, rest): (&str, &str)| {
        let fields = rest.split_once('}').unwrap().0.split(';');
        let name_of = |field: &str| {
            let last = field.split_whitespace().last()?;
            let last = last.trim_start_matches('*').split('[').next().unwrap();
            Some(last.to_owned())
        };
        (name.trim().to_owned(), fields.filter_map(name_of).collect())
    };
    bodies.filter(|(name, _)| !name.contains(';')).map(structure).collect()
}

/// The binary interface on this machine: symbols, and the place of every field, as a compiler sees them.
#[test]
fn binary_interface_is_the_listed_one() {
    let header = without_comments(&fs::read_to_string(here("include/counterpoint.h")).unwrap());
    let list = here("abi.txt");
    let listed = fs::read_to_string(&list).unwrap();
    let mut structures = structures(&header);
    structures.sort_by_key(|(name, _)| listed.find(&format!("\n{name} ")).unwrap_or(usize::MAX));
    let mut program =
        String::from("#include <stdio.h>\n#include <stddef.h>\n#include \"counterpoint.h\"\nint main(void) {\n");
    for (name, fields) in &structures {
        program += &format!("printf(\"{name} %zu\\n\", sizeof({name}));\n");
        for field in fields {
            program += &format!("printf(\"  {field} %zu\\n\", offsetof({name}, {field}));\n");
        }
    }
    program += "return 0; }\n";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, binary) = (folder.join("abi.c"), folder.join("abi"));
    fs::write(&source, program).unwrap();
    let mut compiler = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()));
    run(compiler.args(["-std=c11", "-I"]).arg(here("include")).arg(&source).arg("-o").arg(&binary));
    let symbols: Vec<String> = names(&header, '(').into_iter().collect();
    let found = format!("{}\n{}\n", symbols.join("\n"), run(&mut Command::new(binary)));
    if std::env::var_os("COUNTERPOINT_WRITE_PAGES").is_some() {
        fs::write(&list, &found).unwrap();
    }
    assert_eq!(fs::read_to_string(&list).unwrap(), found, "append fields and functions; never move one");
}
