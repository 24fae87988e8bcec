//! A C++ client, linked with the static and with the shared library: the same event digest as with the Rust interface,
//! what survives a power failure, an error for every misuse, and the symbols that the shared library exports.

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

fn compiler() -> Command {
    let mut command = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".into()));
    command
        .args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(here("include"))
        .arg(here("tests/client.cpp"));
    command
}

/// The client linked with the static library, the client linked with the shared library, and the folder of the shared
/// library.
fn clients() -> &'static (PathBuf, PathBuf, PathBuf) {
    static BUILT: OnceLock<(PathBuf, PathBuf, PathBuf)> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-client");
        fs::create_dir_all(&folder).unwrap();
        let (with_static, with_shared) = (folder.join("with-static"), folder.join("with-shared"));
        run(compiler().arg(archive()).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&with_static));
        run(Command::new("sh").arg(here("link-shared.sh")).arg(archive()).arg(&folder));
        let rpath = format!("-Wl,-rpath,{}", folder.display());
        run(compiler().arg("-L").arg(&folder).args(["-lcounterpoint", &rpath, "-o"]).arg(&with_shared));
        (with_static, with_shared, folder)
    })
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
fn the_digest_is_that_of_the_rust_path() {
    let (with_static, with_shared, _) = clients();
    for name in design::names() {
        let expected = digest_of_the_rust_path(name);
        for client in [with_static, with_shared] {
            let found = run(Command::new(client).args(["trace", name, &REQUESTS.to_string()]));
            assert_eq!(found, expected, "{name} by {}", client.display());
        }
    }
}

#[test]
fn what_was_promised_survives_and_misuse_is_refused() {
    let (with_static, with_shared, _) = clients();
    for client in [with_static, with_shared] {
        for name in ["unencrypted", "secpm", "fca", "write-through", "co-located"] {
            assert_eq!(run(Command::new(client).args(["crash", name])), "survived");
        }
        assert_eq!(run(Command::new(client).arg("misuse")), "refused");
    }
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
    let mut pieces = text.split("/*");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |code, piece| code + piece.split_once("*/").map_or("", |(_, rest)| rest))
}

#[test]
fn header_version_script_and_library_have_the_same_names() {
    let folder = &clients().2;
    let header = without_comments(&fs::read_to_string(here("include/counterpoint.h")).unwrap());
    let declared = names(&header, '(');
    assert_eq!(declared.len(), 15, "{declared:?}");
    assert_eq!(names(&fs::read_to_string(here("counterpoint.map")).unwrap(), ';'), declared);
    let library = folder.join("libcounterpoint.so.1");
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
fn the_header_is_c() {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("header.c");
    fs::write(&source, "#include \"counterpoint.h\"\n").unwrap();
    let mut compiler = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()));
    let flags = ["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"];
    run(compiler.args(flags).arg(here("include")).arg(source));
}
