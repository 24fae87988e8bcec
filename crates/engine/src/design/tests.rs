//! Design files: what they say, what is refused, and the built-in files.

use super::machine_values::MACHINE_VALUES;
use super::*;
use crate::config::preset;
use crate::parts::{Choice, CounterStore, WritePath};
use std::io::Write;
use tempfile::NamedTempFile;

fn file(text: &str) -> NamedTempFile {
    let mut file = tempfile::Builder::new().prefix("mine-").suffix(".toml").tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

/// The error for a design file with this text; its own path is removed.
fn refused(text: &str) -> String {
    let file = file(text);
    let path = file.path().to_str().unwrap();
    let error = load(path, Variant::Hardened, &[]).err().unwrap_or_else(|| panic!("accepted: {text}"));
    error.0.replace(path, "mine.toml")
}

#[test]
fn built_in_designs_are_valid_files_of_their_names_that_repeat_nothing_of_their_bases() {
    for name in names() {
        let text = text(name).unwrap();
        assert_eq!(find(name, Variant::Published).unwrap().name, name);
        let stated: toml::Table = text.parse().unwrap();
        let Some(base) = stated.get("base") else { continue };
        let base = Readings::built_in(base.as_str().unwrap()).unwrap();
        let own = Readings::built_in(name).unwrap();
        for key in KEYS.iter().filter(|key| stated.contains_key(key.path)) {
            let says = |of| key.needs.missing(base.of(of)).is_none();
            let same = |of| says(of) && key.get(base.of(of)) == key.get(own.of(of));
            assert!(!(same(Variant::Published) && same(Variant::Hardened)), "{name}: {}", key.path);
        }
    }
}

#[test]
fn file_has_what_it_says_on_top_of_its_base_and_the_hardened_reading_what_its_table_says() {
    let file = file(
        "base = \"secpm\"\nname = \"mine\"\nwrite_path = \"write-through\"\n[registers]\nstaging_register = \
         \"absent\"\n[hardened]\ncounter_coalescing = \"off\"\n",
    );
    let path = file.path().to_str().unwrap();
    let [published, hardened] = [Variant::Published, Variant::Hardened].map(|of| load(path, of, &[]).unwrap());
    let secpm = find("secpm", Variant::Hardened).unwrap();
    assert_eq!((hardened.name.as_str(), hardened.machine.as_str()), ("mine", "secpm"));
    for design in [&published, &hardened] {
        assert_eq!(design.encryption.unwrap().write_path, WritePath::WriteThrough);
        assert_eq!(design.recovery, secpm.recovery);
    }
    let coalescing = |design: &Design| design.encryption.unwrap().coalescing.name();
    assert_eq!((coalescing(&published), coalescing(&hardened)), ("in-wpq", "off"));
    let parts = hardened.parts.unwrap();
    assert_eq!(parts["write_path"].as_str(), Some("write-through"));
    assert_eq!(parts["registers.staging_register"].as_str(), Some("absent"));
    assert!(!parts.contains_key("log_layout"), "a part without an effect");
}

#[test]
fn copy_of_a_built_in_design_is_that_design_and_one_with_other_parts_needs_a_name() {
    let folder = tempfile::tempdir().unwrap();
    for name in names() {
        let path = folder.path().join(format!("{name}.toml"));
        std::fs::write(&path, text(name).unwrap()).unwrap();
        let copy = load(path.to_str().unwrap(), Variant::Published, &[]).unwrap();
        assert_eq!((copy.name.as_str(), copy.parts), (name, None));
    }
    let path = folder.path().join("secpm.toml");
    std::fs::write(&path, "base = \"secpm\"\ncounter_coalescing = \"off\"\n").unwrap();
    let error = load(path.to_str().unwrap(), Variant::Hardened, &[]).err().unwrap().0;
    assert!(error.ends_with("'secpm' is a built-in design with other parts; give this one a name of its own"));
}

#[test]
fn file_builds_on_another_file_from_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let load = |path: &str| load_with_parts(path, Variant::Hardened, &[]);
    let refusal = |path: &str| load(path).err().unwrap().0;
    write(
        "bases/off.toml",
        "base = \"secpm\"\ncounter_coalescing = \"off\"\n[registers]\nstaging_register = \"absent\"\n",
    );
    let top = write("top.toml", "base = \"bases/off.toml\"\nwrite_path = \"write-through\"\n");
    let alone = write(
        "alone.toml",
        "base = \"secpm\"\ncounter_coalescing = \"off\"\nwrite_path = \"write-through\"\n[registers]\nstaging_register = \"absent\"\n",
    );
    let (design, parts) = load(&top).unwrap();
    assert_eq!(parts, load(&alone).unwrap().1);
    assert_eq!((design.name.as_str(), design.summary.as_str()), ("top", "design file top, on top of off"));
    assert_eq!(design.machine, "secpm");

    // The place of a mistake in a base is that in the base, after the line that names it.
    write("bases/off.toml", "base = \"secpm\"\nwrite_pth = \"deferred\"\n");
    let told = refusal(&top);
    assert!(told.contains("top.toml:1: base: ") && told.contains("bases/off.toml:2: there is no part"), "{told}");
    let nowhere = write("nowhere.toml", "base = \"./secpm\"\n");
    assert!(refusal(&nowhere).contains("nowhere.toml:1: base: design file '"), "{}", refusal(&nowhere));

    // Files that build on themselves end, also those with many names.
    write("a.toml", "base = \"bases/../b.toml\"\n");
    let round = write("b.toml", "base = \"./a.toml\"\n");
    assert!(refusal(&round).ends_with("the file 'bases/../b.toml' builds on itself"), "{}", refusal(&round));
    for n in 0..20 {
        write(&format!("{n}.toml"), &format!("base = \"{}.toml\"\n", n + 1));
    }
    let first = folder.path().join("0.toml");
    assert!(refusal(first.to_str().unwrap()).ends_with("more than 16 files build on one another"));
}

#[test]
fn mistakes_are_told_with_their_line_and_the_nearest_name() {
    let line = |text: &str| refused(text).split_once(": ").unwrap().1.to_owned();
    assert_eq!(
        refused("base = \"secpm\"\n\nwrite_path = \"staged-pairs\"\n").split(" (known").next().unwrap(),
        "mine.toml:3: write_path 'staged-pairs' does not exist: did you mean 'staged-pair'?"
    );
    assert_eq!(line("write_pth = \"deferred\""), "there is no part 'write_pth': did you mean 'write_path'?");
    assert_eq!(line("xyzzy = 1"), "there is no part 'xyzzy' (`counterpoint parts` lists what there is)");
    assert!(line("base = \"secpn\"").starts_with("base: design 'secpn' does not exist: did you mean 'secpm'?"));
    assert_eq!(line("base = 3"), "base = 3 must be the name of a design, or a path");
    assert_eq!(line("base = \"a\\n.toml\""), "base = \"a\\n.toml\" must be the name of a design, or a path");
    assert_eq!(line("secret = \"yes\""), "secret = \"yes\" must be true or false");
    assert_eq!(line("drain = true\ndomain = \"eadr\""), "drain = true must be a name");
    assert_eq!(
        line("crash_consistent = false"),
        "crash_consistent = false must be true, or a sentence that says why not"
    );
    assert_eq!(line("recovery = \"x\""), "recovery: \"x\" must be a list of steps");
    assert!(
        line("recovery = [\"resume\"]")
            .starts_with("recovery: step 'resume' does not exist: did you mean 'resume-reencryption'?")
    );
    assert_eq!(
        line("recovery = [\"encrypt-plain\", \"encrypt-plain\"]"),
        "recovery: step 'encrypt-plain' is listed twice"
    );
    assert_eq!(line("registers = 1"), "registers must be a table, [registers]");
    assert_eq!(line("hardened = 1"), "hardened must be a table, [hardened]");
    assert_eq!(
        line("[hardened]\nbase = \"secpm\""),
        "[hardened]: there is no part 'base' (`counterpoint parts` lists what there is)"
    );
    assert_eq!(line("name = \"a b\""), "name = \"a b\" must be a name of letters, digits, '-', '_' and '.'");
    assert_eq!(line("machine = \" \""), "machine = \" \" must be a text");
    assert!(line("write_path = ").contains("expected"), "{}", line("write_path = "));
    let missing = load("./nowhere.toml", Variant::Hardened, &[]).err().unwrap().0;
    assert!(missing.starts_with("design file './nowhere.toml' cannot be read: "), "{missing}");
    let unknown = load("secpn", Variant::Hardened, &[]).err().unwrap().0;
    assert!(unknown.starts_with("design 'secpn' does not exist: did you mean 'secpm'?"), "{unknown}");
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once_and_what_to_leave_out() {
    let told = refused("base = \"secpm\"\nwrite_pth = \"deferred\"\nsecret = 1\n[hardened]\ncounters = \"none\"\n");
    let complaints: Vec<&str> = told.split("; ").collect();
    let begins = [
        "mine.toml:2: there is no part 'write_pth'",
        "mine.toml:3: secret = 1 must be",
        "mine.toml:5: [hardened]: counters 'none'",
    ];
    assert!(
        complaints.len() == 3 && complaints.iter().zip(begins).all(|(told, begin)| told.starts_with(begin)),
        "{told}"
    );
    let nothing = refused("base = \"secpm\"\nlog_order = \"log-first\"\ndrain = \"in-place\"\n");
    assert!(
        nothing.contains("mine.toml:2: log_order has no effect") && nothing.contains("; mine.toml:3: drain has"),
        "{nothing}"
    );
    let many = refused(&(0..9).map(|n| format!("part{n} = 1\n")).collect::<String>());
    assert!(many.ends_with("; and 4 more") && many.matches("mine.toml:").count() == 5, "{many}");
    let near = refused("base = \"secpm\"\nsummary = \"x\"\ncounter_coalescing = \"off\"\ncounter_store = \"inline\"\n");
    assert!(near.ends_with(". Without counter_store = \"inline\" it is a design"), "{near}");
    let far = refused(
        "base = \"secpm\"\ncounter_store = \"inline\"\nwrite_queues = \"data-and-counter\"\nlog = \"counter-mode\"\n",
    );
    assert!(!far.contains("Without"), "{far}");
}

#[test]
fn part_that_says_nothing_and_parts_that_contradict_each_other_are_refused() {
    let says_nothing = |text: &str, key: &str| {
        let error = refused(text);
        assert!(error.contains(&format!("{key} has no effect without ")), "{error}");
    };
    says_nothing("write_path = \"deferred\"", "write_path");
    says_nothing("base = \"secpm\"\nlog_order = \"log-first\"", "log_order");
    says_nothing("base = \"easy-pm\"\nlog_write_path = \"deferred\"", "log_write_path");
    says_nothing("base = \"secpm\"\ndrain = \"in-place\"", "drain");
    says_nothing("base = \"eadr-cme\"\nshadow_slots = \"all\"", "shadow_slots");
    says_nothing("base = \"sepencr\"\nregisters.incr_counter = \"adr\"", "registers.incr_counter");
    says_nothing("base = \"eadr-cme\"\nshadow_integrity = \"tree\"", "shadow_integrity");
    says_nothing("base = \"bbe\"\nregisters.shadow_root = \"non-volatile\"", "registers.shadow_root");
    says_nothing("base = \"eadr\"\nshadow_stamp = \"metadata\"", "shadow_stamp");
    says_nothing("base = \"eadr-cme\"\n[hardened]\nshadow_stamp = \"metadata\"", "shadow_stamp");
    let contradiction = |text: &str, what: &str| {
        let error = refused(text);
        assert!(error.starts_with("design file 'mine.toml': ") && error.contains(what), "{text}: {error}");
    };
    contradiction("base = \"bbe\"\nencryption = \"none\"", "drain = \"encrypt-to-shadow\" is for encrypted memory");
    contradiction("base = \"hw-log\"\nencryption = \"none\"", "log = \"counter-mode\" encrypts its log lines");
    contradiction("base = \"secpm\"\ncounter_store = \"inline\"", "needs write_path = \"co-located\"");
    contradiction("base = \"secpm\"\nwrite_path = \"co-located\"", "needs counter_store = \"inline\"");
    contradiction("base = \"co-located\"\ncounters = \"split\"", "needs counters = \"global\"");
    contradiction("base = \"secpm\"\nwrite_path = \"ready-pairs\"", "needs write_queues = \"data-and-counter\"");
    contradiction("base = \"secpm\"\nlog = \"counter-mode\"", "needs program = \"hardware-logged\"");
    contradiction("base = \"secpm\"\nprogram = \"hardware-logged\"", "needs a hardware log");
    contradiction("base = \"hw-log\"\nlog_layout = \"chains\"", "chains are for cipher-feedback");
    contradiction("base = \"hw-log\"\nlog_write_path = \"co-located\"", "log lines have their counters in a region");
    contradiction("base = \"secpm\"\ncache_pads = \"boot-pads\"", "needs domain = \"eadr\"");
    contradiction("base = \"secpm\"\nrecovery = [\"undo-hardware-log\"]", "needs a hardware log");
    contradiction("recovery = [\"resume-reencryption\"]", "needs encryption = \"counter-mode\"");
    contradiction("base = \"bbe\"\nrecovery = []", "needs \"restore-shadow\" in recovery");
    contradiction(
        "base = \"sepencr\"\nrecovery = [\"advance-boot-counter\", \"restore-shadow\"]\nshadow_stamp = \"boot-counter\"",
        "before \"advance-boot-counter\"",
    );
    contradiction("base = \"bbe\"\nshadow_integrity = \"tree\"", "needs integrity = \"macs\" or a tree");
    contradiction("base = \"bbe-tree\"\nshadow_integrity = \"none\"", "with shadow_integrity = \"tree\"");
    contradiction(
        "base = \"eadr-cme\"\nintegrity = \"macs\"",
        "integrity = \"macs\" with domain = \"eadr\" needs drain = \"through-write-path\", or \"encrypt-to-shadow\"",
    );
    contradiction("base = \"bbe-tree\"\nrestore_into = \"caches\"", "and restore_into = \"memory\"");
    contradiction("base = \"bbe-tree\"\nshadow_slots = \"all\"", "needs shadow_slots = \"dirty\"");
    contradiction(
        "base = \"sepencr-tree\"\nintegrity = \"counter-tree\"\ncounters = \"wide\"\ntree_leaves = \"persisted\"",
        "get a MAC when they leave the chip",
    );
    contradiction("base = \"sepencr-tree\"\ntree_leaves = \"persisted\"", "tree_leaves = \"current\"");
    contradiction("base = \"sepencr-tree\"\ntree_update = \"lazy\"", "tree_update = \"eager\"");
    contradiction(
        "base = \"bbe-tree\"\nshadow_table = \"on-dirty\"\ngroup_commit = \"registers\"",
        "shadow_table = \"none\"",
    );
    contradiction("base = \"bbe\"\nshadow_stamp = \"lowest-bit\"", "needs drain = \"to-shadow\"");
    for (part, needed) in [
        ("program = \"plain\"", "domain = \"persist-buffers\" needs program = \"flush-free\" and log = \"none\""),
        ("drain = \"in-place\"", "needs drain = \"through-write-path\" with encryption = \"counter-mode\""),
        ("zeroing = \"counters\"", "needs zeroing = \"stores\""),
        ("shadow_table = \"on-dirty\"", "with domain = \"persist-buffers\" needs shadow_table = \"none\""),
        (
            "tree_leaves = \"current\"\ncounter_update = \"with-data\"",
            "needs tree_update = \"eager\" and tree_leaves = \"persisted\"",
        ),
    ] {
        contradiction(&format!("base = \"secpb\"\n{part}"), needed);
    }
    contradiction(
        "base = \"sepencr\"\nrecovery = [\"renew-cache-pads\", \"restore-shadow\"]\nrestore_into = \"caches\"\nshadow_stamp = \"boot-counter\"",
        "put into the caches before",
    );
}

#[test]
fn sets_change_single_parts_of_a_design_that_then_carries_its_parts() {
    let set = |sets: &[&str]| load("secpm", Variant::Hardened, sets);
    assert_eq!(set(&["write_path=staged-pair"]).unwrap().parts, None, "it has that part anyway");
    let design = set(&["write_path = \"deferred\"", "recovery=[]"]).unwrap();
    assert_eq!((design.name.as_str(), design.recovery.len()), ("secpm", 0));
    assert_eq!(design.parts.unwrap()["write_path"].as_str(), Some("deferred"));
    let both = set(&["write_path=co-located", "counter_store=inline", "counters=global"]).unwrap();
    assert_eq!(both.encryption.unwrap().store, CounterStore::Inline);
    let refused = |sets: &[&str]| set(sets).err().unwrap().0;
    assert!(refused(&["write_pth=deferred"]).starts_with("set design.write_pth: there is no part 'write_pth': did"));
    assert!(refused(&["write_path=now"]).starts_with("set design.write_path: write_path 'now' does not exist"));
    assert!(refused(&["write_path"]).starts_with("set design.write_path: write design.KEY=VALUE"));
    assert!(
        refused(&["log_order=any-order"]).starts_with("set design.log_order: has no effect without a hardware log")
    );
    let sentence = "design 'secpm' with set design.counter_store=inline: counter_store = \"inline\" needs write_path";
    assert!(refused(&["counter_store=inline"]).starts_with(sentence));
}

fn on(path: &str, machine: Option<&str>, sets: &[&str]) -> OnMachine {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    load_on(path, Variant::Hardened, machine, &sets).unwrap()
}

#[test]
fn a_machine_value_of_a_design_replaces_that_of_a_preset_and_gives_way_to_what_the_user_states() {
    let design = file("base = \"osiris\"\nname = \"mine\"\n[set]\nintegrity.stop_loss = 8\n");
    let path = design.path().to_str().unwrap();
    let key = "set.integrity.stop_loss";
    let stop_loss = |found: &OnMachine| (found.machine.integrity.stop_loss, found.parts.get(key).cloned());
    let stated = Some(toml::Value::from(8));
    for machine in [None, Some("small")] {
        let found = on(path, machine, &[]);
        assert_eq!(stop_loss(&found), (8, stated.clone()));
        assert_eq!(found.design.parts.as_ref().unwrap()[key], toml::Value::from(8));
        assert_eq!(found.set_by_design.as_deref(), Some("integrity.stop_loss = 8"));
        assert!(found.machine.source.ends_with("; integrity.stop_loss = 8 from design 'mine'"));
        let mut plain = preset(machine.unwrap_or("secpm")).unwrap();
        (plain.integrity.stop_loss, plain.source) = (8, found.machine.source.clone());
        assert_eq!(found.machine, plain, "all other values are the preset's");
    }
    // A machine file states this value, or another one.
    let states = file("base = \"small\"\nintegrity.stop_loss = 2\n");
    let others = file("base = \"small\"\nintegrity.mac_units = 2\n");
    assert_eq!(stop_loss(&on(path, states.path().to_str(), &[])), (2, None));
    assert_eq!(stop_loss(&on(path, others.path().to_str(), &[])), (8, stated));
    let set = on(path, None, &["integrity.stop_loss=4"]);
    assert_eq!((stop_loss(&set), set.set_by_design), ((4, None), None));
    assert!(set.design.parts.is_some_and(|parts| !parts.contains_key(key)));
    assert_eq!(stop_loss(&on(path, None, &["design.set.integrity.stop_loss=16"])).0, 16);
    assert_eq!(on("osiris", None, &[]).machine, preset("secpm").unwrap());
}

#[test]
fn machine_values_go_from_a_base_to_what_builds_on_it_and_only_where_they_have_an_effect() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).to_str().unwrap().to_owned()
    };
    write("base.toml", "base = \"osiris\"\n[set]\nintegrity.stop_loss = 8\n[hardened.set]\nintegrity.stop_loss = 2\n");
    let above = write("above.toml", "base = \"base.toml\"\n[set]\nintegrity.mac_bits = 56\n");
    let of = |variant| load_on(&above, variant, None, &[]).unwrap().machine.integrity;
    let [published, hardened] = Variant::ALL.map(of);
    assert_eq!((published.stop_loss, hardened.stop_loss), (8, 2));
    assert_eq!((published.mac_bits, hardened.mac_bits), (56, 56));
    let through = write("through.toml", "base = \"base.toml\"\nwrite_path = \"deferred\"\n");
    let found = load_on(&through, Variant::Hardened, None, &[]).unwrap();
    assert_eq!((found.machine, found.set_by_design), (preset("secpm").unwrap(), None));
}

#[test]
fn a_machine_value_that_does_not_belong_to_a_design_is_refused() {
    let line = |text: &str| refused(text).split_once(": ").unwrap().1.to_owned();
    let alone = line("base = \"osiris\"\n[set]\ncontroller.aes_units = 8\n");
    let begin = "[set]: controller.aes_units belongs to the machine alone; a design file can set controller.counter_wpq_entries, ";
    assert!(alone.starts_with(begin) && alone.contains(", integrity.stop_loss, "), "{alone}");
    assert_eq!(
        line("base = \"osiris\"\n[set]\nintegrity.stop_los = 8\n"),
        "[set]: there is no key 'integrity.stop_los': did you mean 'integrity.stop_loss'?"
    );
    assert_eq!(
        line("base = \"osiris\"\n[set]\nintegrity.stop_loss = 65\n"),
        "[set]: integrity.stop_loss = 65 must be a whole number from 1 to 64, because a recovery tries this many counters for \
         each line"
    );
    assert_eq!(
        refused("base = \"secpm\"\n[set]\nintegrity.stop_loss = 8\n"),
        "mine.toml:3: set.integrity.stop_loss has no effect without write_path = \"stop-loss\" or \"selective-stop-loss\""
    );
    assert_eq!(line("set = 1"), "set must be a table, [set]");
    let both = refused("base = \"osiris\"\n[set]\ncore.width = 2\n[hardened.set]\nintegrity.stop_loss = 0\n");
    assert!(
        both.contains("mine.toml:3: [set]: core.width") && both.contains("; mine.toml:5: [hardened]: [set]: "),
        "{both}"
    );

    // Values that the machine does not allow together name the design that they come from.
    let queue = file("base = \"fca\"\nname = \"mine\"\n[set]\ncontroller.counter_wpq_entries = 1\n");
    let error = load_on(queue.path().to_str().unwrap(), Variant::Hardened, None, &[]).err().unwrap().0;
    assert!(error.ends_with("; controller.counter_wpq_entries = 1 from design 'mine'"), "{error}");
}

#[test]
fn every_machine_value_of_designs_is_one_of_machines_and_has_an_effect_in_some_design() {
    let machine = toml::Table::try_from(preset("secpm").unwrap()).unwrap();
    for (path, needs) in MACHINE_VALUES {
        let (section, key) = path.split_once('.').unwrap();
        let value = &machine[section][key];
        let mut draft = Draft::default();
        assert!(machine_values::set(&mut draft, path, value).is_ok(), "{path}");
        let says = |name: &str| {
            let readings = Readings::built_in(name).unwrap();
            needs.missing(readings.of(Variant::Hardened)).is_none()
        };
        assert!(names().any(says) && !names().all(says), "{path}");
    }
}

#[test]
fn every_value_of_every_part_has_a_meaning_and_a_name_that_sets_it() {
    for (part, key) in parts().iter().zip(KEYS) {
        assert!(!part.meaning.is_empty() && !part.values.is_empty(), "{}", part.key);
        for value in &part.values {
            assert!(value.meaning.ends_with('.') && !value.meaning.contains('\n'), "{}: {value:?}", part.key);
            let mut draft = Draft::default();
            let written = match part.key {
                "recovery" => format!("[\"{}\"]", value.name),
                _ => value.name.to_owned(),
            };
            assert!(file::set(&mut draft, part.key, &written).is_ok(), "{} {}", part.key, value.name);
            let shown = key.get(&draft).to_string();
            assert!(shown.contains(value.name), "{}: {shown}", part.key);
        }
    }
}
