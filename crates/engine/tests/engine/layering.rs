//! The house stays as drawn: who may import whom, and that no stage names a design.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Every room, from the ground floor up, and the rooms that it imports. A room stands above all that it imports, so no arrow
/// goes up and there is no circle.
const ROOMS: &[(&str, &str)] = &[
    ("kernel", ""),
    ("output", ""),
    ("stats", ""),
    ("message", "kernel"),
    ("config", "message"),
    ("cipher", "kernel message config"),
    ("parts", "message config"),
    ("workload", "kernel output message config"),
    ("cpu", "kernel message config"),
    ("cache", "kernel message config parts"),
    ("controller", "kernel message config parts"),
    ("device", "kernel message config"),
    ("mechanism", "message config cipher parts"),
    ("design", "config parts"),
    ("recovery", "message parts"),
    ("audit", "kernel message parts"),
    ("timeline", "kernel output message config"),
    ("attribution", "kernel stats message workload"),
    ("assembly", "kernel message config cipher parts cpu cache controller device mechanism recovery"),
    ("run", "kernel stats message config parts workload cpu cache controller device audit assembly"),
    ("user_recovery", "output message config workload run"),
    (
        "crash",
        "kernel message config cipher parts workload controller device design recovery audit assembly run user_recovery",
    ),
    ("legal_states", "kernel message config parts recovery audit assembly run crash"),
    ("crash_view", "kernel message config parts recovery audit assembly run crash"),
    (
        "api",
        "message config parts workload design timeline attribution assembly run user_recovery crash legal_states crash_view",
    ),
    ("embed", "kernel stats message config parts controller device recovery assembly run crash design"),
];

/// Stages and what judges them decide nothing by a design's name.
const WITHOUT_DESIGNS: [&str; 9] =
    ["workload", "cpu", "cache", "controller", "device", "mechanism", "audit", "recovery", "crash"];

/// The most lines of a file.
const LINES_MAX: usize = 520;

fn source_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every source file, as its path below `src` and its text.
fn sources() -> Vec<(PathBuf, String)> {
    fn below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a source folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                below(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let (root, mut paths) = (source_root(), Vec::new());
    below(&root, &mut paths);
    paths.sort();
    let relative = |path: &PathBuf| path.strip_prefix(&root).expect("below the root").to_owned();
    paths.iter().map(|path| (relative(path), fs::read_to_string(path).expect("a readable source file"))).collect()
}

/// The sources of the program: no file that exists for tests only, and of the others what is compiled without them.
fn program() -> Vec<(PathBuf, String)> {
    let all = sources();
    let mut for_tests = BTreeSet::new();
    for (path, text) in &all {
        for module in split(text).1 {
            let of_folder = ["mod.rs", "lib.rs"].iter().any(|name| path.ends_with(name));
            let folder = if of_folder { path.parent().expect("a folder").to_owned() } else { path.with_extension("") };
            for_tests.insert(folder.join(module));
        }
    }
    let is_for_tests = |path: &Path| path.with_extension("").ancestors().any(|place| for_tests.contains(place));
    all.into_iter().filter(|(path, _)| !is_for_tests(path)).map(|(path, text)| (path, split(&text).0)).collect()
}

/// The part of a file that is not tests, and the modules in other files that are.
fn split(text: &str) -> (String, Vec<String>) {
    let (mut body, mut modules) = (String::new(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            body.extend([line, "\n"]);
            continue;
        }
        let Some(item) = lines.next() else { break };
        let words: Vec<&str> = item.split_whitespace().collect();
        match words.iter().position(|word| *word == "mod") {
            Some(at) if item.ends_with(';') => modules.push(words[at + 1].trim_end_matches(';').to_owned()),
            // An item in braces ends where its first line begins; rustfmt sees to that.
            _ if item.ends_with('{') => {
                let end = format!("{}}}", &item[..item.len() - item.trim_start().len()]);
                lines.by_ref().find(|line| *line == end);
            }
            _ => {}
        }
    }
    (body, modules)
}

fn room_of(path: &Path) -> &str {
    let first = path.iter().next().and_then(|name| name.to_str()).expect("a path in UTF-8");
    first.trim_end_matches(".rs")
}

/// The rooms that a text names.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("crate::").map(|(at, found)| {
        let rest = &text[at + found.len()..];
        rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default()
    })
}

#[test]
fn every_room_is_drawn_above_what_it_imports() {
    let mut below: Vec<&str> = Vec::new();
    for (room, imported) in ROOMS {
        let up: Vec<&str> = imported.split_whitespace().filter(|name| !below.contains(name)).collect();
        assert!(up.is_empty(), "{room} imports {up:?}, which are not drawn below it");
        below.push(room);
    }
    let there: BTreeSet<String> =
        sources().iter().map(|(path, _)| room_of(path).to_owned()).filter(|room| room != "lib").collect();
    assert_eq!(
        there,
        below.iter().map(|room| (*room).to_owned()).collect(),
        "the rooms drawn and those that are there"
    );
}

#[test]
fn a_room_imports_what_is_drawn_and_nothing_else() {
    let program = program();
    for (room, drawn) in ROOMS {
        let drawn: BTreeSet<&str> = drawn.split_whitespace().collect();
        let of_room = program.iter().filter(|(path, _)| room_of(path) == *room);
        let found: BTreeSet<&str> = of_room.flat_map(|(_, text)| imports(text)).filter(|name| name != room).collect();
        assert_eq!(found, drawn, "what {room} imports, and what is drawn");
    }
}

#[test]
fn no_stage_names_a_design() {
    let names: Vec<String> = counterpoint_engine::design::names().map(|name| format!("\"{name}\"")).collect();
    for (path, text) in program().iter().filter(|(path, _)| WITHOUT_DESIGNS.contains(&room_of(path))) {
        for name in &names {
            assert!(!text.contains(name.as_str()), "{} names the design {name}", path.display());
        }
    }
}

#[test]
fn every_file_can_be_read_in_one_sitting() {
    for (path, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= LINES_MAX, "{} has {lines} lines", path.display());
        assert!(text.starts_with("//!"), "{} does not open with what it is", path.display());
    }
}

#[test]
fn tests_are_told_from_the_program_wherever_they_stand() {
    let text =
        "use a;\n#[cfg(test)]\nmod apart;\nfn f() {}\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\nuse crate::b::C;\n";
    let (body, modules) = split(text);
    assert_eq!(body, "use a;\nfn f() {}\nuse crate::b::C;\n");
    assert_eq!(modules, ["apart"]);
    assert_eq!(imports(&body).collect::<Vec<_>>(), ["b"]);
}
