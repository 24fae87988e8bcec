//! The handlers of the controller mark what follows from an event, and `settle` does it: none calls another in a circle.

use super::common::sources::{sources_of, without_tests};
use std::collections::{BTreeMap, BTreeSet};

/// A method: its type and its name.
type Method = (String, String);

/// The text of the controller's files, without their tests.
fn sources() -> Vec<String> {
    let files = sources_of("engine").into_iter().filter(|file| file.path.starts_with("controller") && !file.for_tests);
    files.map(|file| without_tests(&file)).collect()
}

/// The word that `text` begins with.
fn word(text: &str) -> &str {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default()
}

/// What a method calls of its own type, of the queues that it works on, and of the log manager at work.
fn calls(of: &str, body: &str) -> BTreeSet<Method> {
    let body: String = body.split_whitespace().collect();
    let mut found = BTreeSet::new();
    for (before, owner) in [("self.", of), ("self.memory.", "Memory"), ("self.logging().", "Logging")] {
        for (at, _) in body.match_indices(before) {
            let rest = &body[at + before.len()..];
            let name = word(rest);
            if rest[name.len()..].starts_with('(') {
                found.insert((owner.to_owned(), name.to_owned()));
            }
        }
    }
    found
}

/// Every method of a text with what it calls. A block ends where its first line begins; rustfmt sees to that.
fn methods(text: &str) -> BTreeMap<Method, BTreeSet<Method>> {
    let mut found = BTreeMap::new();
    let mut owner = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("impl") {
            let named = line.trim_end_matches(" {").rsplit("> ").next().unwrap_or_default();
            owner = word(named.trim_start_matches("impl ")).to_owned();
        } else if let Some((visibility, rest)) = line.split_once("fn ")
            && visibility.starts_with("    ")
            && ["", "pub ", "pub(super) ", "pub(in crate::controller) "].contains(&visibility.trim_start())
        {
            let end = format!("{}}}", " ".repeat(visibility.len() - visibility.trim_start().len()));
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != end).collect();
            found.insert((owner.clone(), word(rest).to_owned()), calls(&owner, &body.join("\n")));
        }
    }
    found
}

/// A circle of calls, if there is one.
fn circle(graph: &BTreeMap<Method, BTreeSet<Method>>) -> Option<Vec<Method>> {
    fn follow(
        graph: &BTreeMap<Method, BTreeSet<Method>>,
        method: &Method,
        path: &mut Vec<Method>,
        over: &mut BTreeSet<Method>,
    ) -> Option<Vec<Method>> {
        if let Some(at) = path.iter().position(|earlier| earlier == method) {
            return Some(path[at..].to_vec());
        }
        if over.contains(method) {
            return None;
        }
        path.push(method.clone());
        let called = graph.get(method).into_iter().flatten();
        let found = called.filter_map(|called| follow(graph, called, path, over)).next();
        path.pop();
        over.insert(method.clone());
        found
    }
    let mut over = BTreeSet::new();
    graph.keys().find_map(|method| follow(graph, method, &mut Vec::new(), &mut over))
}

#[test]
fn no_handler_of_the_controller_calls_another_in_a_circle() {
    let graph: BTreeMap<Method, BTreeSet<Method>> = sources().iter().flat_map(|text| methods(text)).collect();
    let called = |owner: &str, name: &str| graph.get(&(owner.to_owned(), name.to_owned())).map_or(0, BTreeSet::len);
    assert_eq!(circle(&graph), None);
    assert!(called("Encrypted", "settle") >= 5 && called("Plain", "settle") >= 2, "the steps of settle are found");
    assert!(called("Memory", "append") >= 2 && called("Logging", "persisted") >= 4, "so are those of other types");
}

#[test]
fn circle_of_calls_is_found() {
    let text = "impl<D: Port> Encrypted<'_, D> {\n    pub fn admit(&mut self) {\n        self.memory.serve();\n        self\n            \
                .start();\n    }\n    fn start(&mut self) {\n        self.admit();\n    }\n}\nimpl Memory {\n    pub(super) fn \
                serve(&self) {\n    }\n}\n";
    let name = |owner: &str, name: &str| (owner.to_owned(), name.to_owned());
    let graph = methods(text);
    assert_eq!(graph.len(), 3);
    assert_eq!(
        graph[&name("Encrypted", "admit")],
        BTreeSet::from([name("Encrypted", "start"), name("Memory", "serve")])
    );
    assert_eq!(circle(&graph), Some(vec![name("Encrypted", "admit"), name("Encrypted", "start")]));
}
