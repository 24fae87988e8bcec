//! Every kind of bad input, and its exact error sentence.

use super::*;
use crate::kernel::ConfigError;

fn set(sets: &[&str]) -> Result<Machine, ConfigError> {
    load_machine("secpm", &sets.iter().map(|set| (*set).to_owned()).collect::<Vec<_>>())
}

fn set_error(text: &str) -> String {
    set(&[text]).unwrap_err().0
}

/// The result of loading a machine file `name` with this text. The folder is removed from the error.
fn file(name: &str, text: &str) -> Result<Machine, String> {
    let folder = std::env::temp_dir().join(format!("counterpoint-config-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("mine.toml");
    std::fs::write(&path, text).unwrap();
    let loaded = load_machine(path.to_str().unwrap(), &[]);
    std::fs::remove_dir_all(&folder).unwrap();
    let prefix = format!("{}/", folder.display());
    loaded
        .map(|machine| Machine { source: machine.source.replace(&prefix, ""), ..machine })
        .map_err(|error| error.0.replace(&prefix, ""))
}

fn run() -> RunConfig {
    RunConfig {
        tx_size: 1024,
        transactions: 10,
        footprint: 1 << 30,
        ..RunConfig::new("secpm", "btree", preset("secpm").unwrap())
    }
}

#[test]
fn machines_are_found_by_name_or_file() {
    assert_eq!(load_machine("small", &[]).unwrap(), preset("small").unwrap());
    assert_eq!(
        load_machine("smal", &[]).unwrap_err().0,
        "machine 'smal' does not exist: did you mean 'small'? (known: secpm, secpm-workshop, counter-atomicity, easy-pm, sepencr, small, optane, ddr4-2400, ddr5-4800, cxl-pm, gem5-o3, gem5-timing)"
    );
    assert_eq!(
        load_machine("nowhere.toml", &[]).unwrap_err().0,
        "machine file 'nowhere.toml' cannot be read: No such file or directory (os error 2)"
    );
}

#[test]
fn file_without_an_end_is_not_read_to_it() {
    assert_eq!(
        load_machine("/dev/zero", &[]).unwrap_err().0,
        "machine file '/dev/zero' cannot be read: it is larger than 1 MiB"
    );
    let whole = format!("base = 'small'\n{}", "#".repeat((1 << 20) - 15));
    assert_eq!(whole.len(), 1 << 20);
    assert!(file("whole", &whole).is_ok());
    assert!(file("longer", &format!("{whole}#")).unwrap_err().ends_with("it is larger than 1 MiB"));
}

#[test]
fn numbers_on_a_command_line_are_decimal() {
    for number in ["1_0", "+10", "0x10", "0o10", "0b10", "1_0.5"] {
        let sentence = set_error(&format!("device.t_wr_ns={number}"));
        let expected = format!("'{number}' is not a number in decimal digits, as in 64, 1.5 or 1e-3");
        assert!(sentence.ends_with(&expected), "{number}: {sentence}");
    }
    for number in ["\u{661}", "1 0", "1_0KiB", "10 KiB", "_10"] {
        assert!(set(&[&format!("l1.size={number}")]).is_err(), "{number}");
    }
    assert!(set(&["device.t_wr_ns=150", "l1.size=64KiB", "name=1_0"]).is_ok());
}

#[test]
fn file_changes_what_it_names_and_keeps_the_rest() {
    let machine = file("good", "base = 'small'\ndevice.t_wr_ns = 150\n\n[l1]\nsize = '1KiB'\nways = 4\n").unwrap();
    let mut expected = preset("small").unwrap();
    expected.name = "mine".into();
    expected.source = "mine.toml, on top of small".into();
    expected.device.t_wr_ns = 150.0;
    (expected.l1.size, expected.l1.ways) = (ByteSize(1024), 4);
    assert_eq!(machine, expected);
    assert_eq!(file("empty", "").unwrap().device, preset("secpm").unwrap().device);
    assert_eq!(file("named", "name = 'other'").unwrap().name, "other");
}

#[test]
fn mistakes_in_a_file_come_with_their_line() {
    let cases = [
        (
            "base = 'smal'",
            "mine.toml:1: base: machine 'smal' does not exist: did you mean 'small'? (known: secpm, secpm-workshop, \
             counter-atomicity, easy-pm, sepencr, small, optane, ddr4-2400, ddr5-4800, cxl-pm, gem5-o3, gem5-timing)",
        ),
        ("base = 3", "mine.toml:1: base = 3 must be the name of a machine"),
        ("\n[core]\nwidht = 4\n", "mine.toml:3: there is no key 'core.widht': did you mean 'core.width'?"),
        ("wpq_entires = 4\n", "mine.toml:1: there is no key 'wpq_entires': did you mean 'controller.wpq_entries'?"),
        (
            "[l1]\nways = 8\n[controler]\nwpq_entries = 4\n",
            "mine.toml:3: there is no key 'controler': did you mean 'controller'?",
        ),
        ("[zzzzzzzz]\n", "mine.toml:1: there is no key 'zzzzzzzz'"),
        ("core = 3\n", "mine.toml:1: core = 3 must be a table, [core]"),
        (
            "core = 3\n[l1]\nways = 8\nwas = 8\n",
            "mine.toml:1: core = 3 must be a table, [core]; mine.toml:4: there is no key 'l1.was': did you mean 'l1.ways'?",
        ),
        (
            "[core.width]\nx = 1\n",
            "mine.toml:1: core.width = { x = 1 } must be a whole number from 1 to 64, because a core dispatches at \
             least one instruction per cycle, and none does more than 64",
        ),
        ("[engine]\nbytes = 'yes'\n", "mine.toml:2: engine.bytes = \"yes\" must be true or false"),
        ("name = 7\n", "mine.toml:1: name = 7 must be a text"),
        (
            "\n\n[device]\nmapping = 'page'",
            "mine.toml:4: device.mapping = \"page\" must be page-interleaved, row-interleaved, line-interleaved, \
             segment-interleaved, page-xor or bank-contiguous",
        ),
        // All mistakes of the file are reported, in its order.
        (
            "[l2]\nways = 0\n[l1]\nways = 0\n",
            "mine.toml:2: l2.ways = 0 must be a whole number from 1 to 256, because a set is searched way by way; \
             mine.toml:4: l1.ways = 0 must be a whole number from 1 to 256, because a set is searched way by way",
        ),
    ];
    for (at, (text, sentence)) in cases.into_iter().enumerate() {
        assert_eq!(file(&format!("bad{at}"), text).unwrap_err(), sentence, "{text}");
    }
}

#[test]
fn broken_toml_comes_with_its_line() {
    for (at, (text, start)) in
        [("[core]\nwidth = = 4\n", "mine.toml:2: "), ("a = 1\n\na = 2\n", "mine.toml:3: "), ("[core", "mine.toml:1: ")]
            .into_iter()
            .enumerate()
    {
        let error = file(&format!("broken{at}"), text).unwrap_err();
        assert!(error.starts_with(start) && error.len() > start.len() && !error.contains('\n'), "{error}");
    }
}

#[test]
fn sets_apply_in_order_over_a_preset() {
    let machine = set(&[
        "l1.size=128KiB",
        "controller.counter_placement = cross-bank",
        "device.t_wr_ns=150",
        "device.t_wr_ns=160.5",
    ]);
    let machine = machine.unwrap();
    assert_eq!(machine.l1.size, ByteSize(128 << 10));
    assert_eq!(machine.controller.counter_placement, CounterPlacement::CrossBank);
    assert_eq!(machine.device.t_wr_ns, 160.5);
    assert_eq!(set(&["l1.size=65536", "name=42"]).unwrap().l1.size, ByteSize(65_536));
    assert_eq!(set(&["name=42"]).unwrap().name, "42");
    assert_eq!(set(&["name=\"a b\""]).unwrap().name, "a b");
}

#[test]
fn mistakes_in_a_set_quote_it() {
    let cases = [
        ("device.t_wr_ns", "set device.t_wr_ns: write path.to.key=value, as in device.t_wr_ns=150"),
        ("device.t_wr=3", "set device.t_wr=3: there is no key 'device.t_wr': did you mean 'device.t_wr_ns'?"),
        ("minor_bits=3", "set minor_bits=3: there is no key 'minor_bits': did you mean 'counters.minor_bits'?"),
        ("qqqqqqqqqqqqqqqqqqqq=3", "set qqqqqqqqqqqqqqqqqqqq=3: there is no key 'qqqqqqqqqqqqqqqqqqqq'"),
        ("=3", "set =3: there is no key ''"),
        ("l1=3", "set l1=3: l1 = 3 must be a table, [l1]"),
        (
            "core.width=",
            "set core.width=: core.width = \"\" must be a whole number from 1 to 64, because a core dispatches at \
             least one instruction per cycle, and none does more than 64",
        ),
        (
            "device.channels=-1",
            "set device.channels=-1: device.channels = -1 must be a whole number from 1 to 64, because a bank's \
             number has 16 bits",
        ),
        (
            "device.channels=99999999999999999999",
            "set device.channels=99999999999999999999: device.channels = \"99999999999999999999\" must be a whole \
             number from 1 to 64, because a bank's number has 16 bits",
        ),
        (
            "device.channels=1.5",
            "set device.channels=1.5: device.channels = 1.5 must be a whole number from 1 to 64, because a bank's \
             number has 16 bits",
        ),
        (
            "device.t_wr_ns=nan",
            "set device.t_wr_ns=nan: device.t_wr_ns = nan must be a number from 0 to 1000000, because a millisecond \
             is longer than any memory takes",
        ),
        (
            "l1.size=100",
            "set l1.size=100: l1.size = 100 must be a size from 64B to 1GiB (B, KiB, MiB, GiB, TiB), a multiple of \
             64B, because a cache holds whole lines of 64 bytes, and the host holds them all",
        ),
        (
            "l1.size=64KB",
            "set l1.size=64KB: l1.size = \"64KB\" must be a size from 64B to 1GiB (B, KiB, MiB, GiB, TiB), a \
             multiple of 64B, because a cache holds whole lines of 64 bytes, and the host holds them all",
        ),
        (
            "controller.wpq_entries=1",
            "set controller.wpq_entries=1: controller.wpq_entries = 1 must be a whole number from 2 to 4096, \
             because a line and its counter block are appended together and take two entries",
        ),
        (
            "controller.aes_key_bits=192",
            "set controller.aes_key_bits=192: controller.aes_key_bits = 192 must be 128 or 256, because the engine has \
             AES-128 and AES-256",
        ),
        (
            "counters.minor_bits=15",
            "set counters.minor_bits=15: counters.minor_bits = 15 must be a whole number from 1 to 14, because \
             the input of a pad has 14 bits for a minor",
        ),
        (
            "log.transactions=33",
            "set log.transactions=33: log.transactions = 33 must be a whole number from 1 to 32, because the \
             controller has registers for 32 concurrent transactions",
        ),
        (
            "log.buckets=0",
            "set log.buckets=0: log.buckets = 0 must be a whole number from 1 to 65536, because a transaction needs a \
             bucket, and free ones are kept in a list",
        ),
        (
            "log.bucket_records=257",
            "set log.bucket_records=257: log.bucket_records = 257 must be a whole number from 1 to 256, because a \
             bucket holds at least one record, and a recovery reads all of them",
        ),
        (
            "log.pending_entries=0",
            "set log.pending_entries=0: log.pending_entries = 0 must be a whole number from 1 to 256, because what \
             waits needs an entry, and entries are searched one by one",
        ),
        (
            "log.cfb_latency=parallel",
            "set log.cfb_latency=parallel: log.cfb_latency = \"parallel\" must be serial or paper",
        ),
        ("log.iv=per-record", "set log.iv=per-record: log.iv = \"per-record\" must be per-allocation or per-bucket"),
        (
            "controller.counter_placement=samebank",
            "set controller.counter_placement=samebank: controller.counter_placement = \"samebank\" must be \
             same-bank, single-bank, cross-bank or interleaved",
        ),
        ("engine.bytes=true\nx=1", "set engine.bytes=true\\nx=1: engine.bytes = \"true\\nx=1\" must be true or false"),
    ];
    for (text, sentence) in cases {
        assert_eq!(set_error(text), sentence);
    }
}

#[test]
fn values_are_checked_against_each_other() {
    let cases: [(&[&str], &str); 16] = [
        (
            &["core.clock_mhz=3000"],
            "core.clock_mhz = 3000 must divide 1000000, because a cycle is a whole number of picoseconds",
        ),
        (
            &["l2.size=96KiB"],
            "l2.size = 96KiB must be a power of two times the 512B of a set, because l2.ways = 8 and address bits \
             choose the set",
        ),
        (
            &["l1.size=256B"],
            "l1.size = 256B must be a power of two times the 512B of a set, because l1.ways = 8 and address bits \
             choose the set",
        ),
        (
            &["controller.counter_cache_ways=7"],
            "controller.counter_cache_size = 1MiB must be a power of two times the 448B of a set, because \
             controller.counter_cache_ways = 7 and address bits choose the set",
        ),
        (&["l1.shared=true"], "l1.shared = true must be false, because every core has a first level of its own"),
        (
            &["controller.wpq_low_watermark=20", "controller.wpq_high_watermark=20"],
            "controller.wpq_low_watermark = 20 must be below controller.wpq_high_watermark = 20, because draining \
             goes from the one to the other",
        ),
        (
            &["controller.wpq_entries=16", "controller.wpq_high_watermark=20"],
            "controller.wpq_high_watermark = 20 must be at most controller.wpq_entries = 16, because a queue that is \
             never that full would never drain",
        ),
        (
            &["controller.counter_wpq_low_watermark=12", "controller.counter_wpq_high_watermark=12"],
            "controller.counter_wpq_low_watermark = 12 must be below controller.counter_wpq_high_watermark = 12, \
             because draining goes from the one to the other",
        ),
        (
            &["controller.counter_wpq_entries=2", "controller.counter_wpq_high_watermark=3"],
            "controller.counter_wpq_high_watermark = 3 must be at most controller.counter_wpq_entries = 2, because a \
             queue that is never that full would never drain",
        ),
        (
            &["l2.shared=true", "l2.size_per_core=true", "l2.size=96KiB"],
            "l2.size = 96KiB must be a power of two times the 512B of a set, because l2.ways = 8 and address bits \
             choose the set",
        ),
        (
            &["device.channels=64", "device.banks_per_rank=512"],
            "device.channels x device.ranks x device.banks_per_rank = 65536 must be at most 65535, because a bank's \
             number has 16 bits",
        ),
        (
            &["device.mapping=page-xor", "program.core_region=packed", "device.banks_per_rank=6"],
            "device.mapping = page-xor needs a power of two of banks, not 12 (device.channels x device.ranks x \
             device.banks_per_rank)",
        ),
        (
            &["device.mapping=line-interleaved", "program.core_region=packed"],
            "device.mapping = line-interleaved needs controller.counter_placement = single-bank or interleaved, \
             because the lines of a counter block lie in several banks",
        ),
        (
            &[
                "device.mapping=line-interleaved",
                "program.core_region=packed",
                "controller.counter_placement=cross-bank",
            ],
            "device.mapping = line-interleaved needs controller.counter_placement = single-bank or interleaved, \
             because the lines of a counter block lie in several banks",
        ),
        (
            &["device.mapping=segment-interleaved", "program.core_region=packed"],
            "device.mapping = segment-interleaved needs controller.counter_placement = single-bank or interleaved, \
             because the lines of a counter block lie in several banks",
        ),
        (
            &["device.capacity=68KiB"],
            "device.capacity = 68KiB must be a multiple of 64KiB, because each of the 16 banks has whole rows of 4KiB",
        ),
    ];
    for (sets, sentence) in cases {
        assert_eq!(set(sets).unwrap_err().0, format!("machine 'secpm': {sentence}"));
    }
    assert_eq!(
        set(&["device.capacity=64KiB"]).unwrap_err().0,
        "machine 'secpm': device.capacity = 64KiB leaves no page for data beside the rows of 4KiB that the counters \
         of 16 banks take"
    );
    assert_eq!(
        set(&["device.capacity=128KiB"]).unwrap_err().0,
        "machine 'secpm': log.buckets = 256 with log.bucket_records = 16 leave no page for programs in device.capacity \
         = 128KiB"
    );
    // 16 pages for data; a bucket of one record takes 9 lines, and seven of them one page.
    let buckets = |count: u32| {
        set(&["device.capacity=128KiB".into(), "log.bucket_records=1".into(), format!("log.buckets={count}")]
            .each_ref()
            .map(String::as_str))
    };
    assert_eq!(Geometry::of(&buckets(7).unwrap()).program_capacity(), 15 * 4096);
    assert_eq!(Geometry::of(&buckets(8).unwrap()).program_capacity(), 14 * 4096);
    assert_eq!(Geometry::of(&buckets(15 * 64 / 9).unwrap()).program_capacity(), 4096);
    assert!(buckets(15 * 64 / 9 + 1).is_err());
    for placement in ["single-bank", "interleaved"] {
        let placement = format!("controller.counter_placement={placement}");
        assert!(set(&["device.mapping=line-interleaved", "program.core_region=packed", &placement]).is_ok());
    }
    let mut machine = preset("secpm").unwrap();
    machine.counters.minor_bits = 9;
    assert!(validate(&machine).unwrap_err().0.starts_with("machine 'secpm': counters.minor_bits = 9 must be"));
}

#[test]
fn runs_are_checked() {
    assert_eq!(validate_run(&run()), Ok(()));
    let error = |change: fn(&mut RunConfig)| {
        let mut run = run();
        change(&mut run);
        validate_run(&run).unwrap_err().0
    };
    let tx_size = |n| {
        format!(
            "tx_size = {n} must be a multiple of 64 from 64 to 65536 bytes, because memory moves in lines of 64 bytes"
        )
    };
    assert_eq!(error(|run| run.tx_size = 0), tx_size(0));
    assert_eq!(error(|run| run.tx_size = 100), tx_size(100));
    assert_eq!(error(|run| run.tx_size = 65_600), tx_size(65_600));
    assert_eq!(error(|run| run.transactions = 0), "transactions = 0 must be from 1 to 1000000000");
    assert_eq!(
        error(|run| run.transactions = u64::MAX),
        format!("transactions = {} must be from 1 to 1000000000", u64::MAX)
    );
    assert_eq!(
        error(|run| run.warmup = 1_000_000_001),
        "warmup = 1000000001 must be from 0 to 1000000000 transactions"
    );
    assert_eq!(error(|run| run.cores = 0), "cores = 0 must be from 1 to 64");
    assert_eq!(error(|run| run.cores = 65), "cores = 65 must be from 1 to 64");
    assert_eq!(error(|run| run.footprint = 0), "footprint = 0 must be a multiple of 64 bytes above zero");
    assert_eq!(error(|run| run.footprint = 65), "footprint = 65 must be a multiple of 64 bytes above zero");
    let data = Geometry::of(&run().machine).program_capacity();
    assert_eq!(
        error(|run| (run.footprint, run.cores) = (16 << 30, 2)),
        format!(
            "footprint = 16GiB and 2 log rings of 1MiB do not fit into the {data} bytes that device.capacity = 16GiB \
             leaves for programs"
        )
    );
    assert!(error(|run| run.footprint = u64::MAX - 63).starts_with("footprint = "));
    assert!(
        error(|run| run.machine.device.t_wr_ns = -1.0).starts_with("machine 'secpm': device.t_wr_ns = -1.0 must be")
    );
}

#[test]
fn digest_names_the_whole_configuration() {
    let digest = config_digest(&run());
    assert_eq!((digest.len(), &digest), (16, &config_digest(&run())));
    let changes: [fn(&mut RunConfig); 4] = [
        |run| run.seed = 2,
        |run| run.variant = Variant::Published,
        |run| run.machine.device.t_wr_ns = 301.0,
        |run| run.workload = "array".into(),
    ];
    for change in changes {
        let mut other = run();
        change(&mut other);
        assert_ne!(config_digest(&other), digest);
    }
}

#[test]
fn footprint_is_that_of_all_cores_or_of_each() {
    let program = preset("sepencr").unwrap().program;
    assert_eq!([1, 4, 8].map(|cores| program.total_footprint(cores)), [1 << 20, 4 << 20, 8 << 20]);
    assert_eq!(program.total_footprint(u64::MAX), u64::MAX);
    let program = set(&["program.footprint=512KiB"]).unwrap().program;
    assert_eq!([1, 8].map(|cores| program.total_footprint(cores)), [512 << 10; 2]);
    let program = set(&["program.footprint=512KiB", "program.footprint_per_core=true"]).unwrap().program;
    assert_eq!(program.total_footprint(8), 4 << 20);
    assert_eq!(
        set_error("program.footprint_per_core=2"),
        "set program.footprint_per_core=2: program.footprint_per_core = 2 must be true or false"
    );
}

#[test]
fn bad_values_of_the_persistence_domain_get_a_sentence() {
    let energy =
        "must be a number from 0 to 1000000, because a million units for a byte are more than any battery gives";
    let cases = [
        (
            "eadr.battery=none",
            "eadr.battery = \"none\" must be as-needed, write-only, write-compute-order or all-operation".to_owned(),
        ),
        (
            "eadr.cme_levels=4",
            "eadr.cme_levels = 4 must be a whole number from 1 to 3, because there are three levels, and the first one is \
             where the core reads"
                .to_owned(),
        ),
        ("eadr.aes_pj_per_byte=-1", format!("eadr.aes_pj_per_byte = -1 {energy}")),
        ("eadr.l1_drain_nj_per_byte=inf", format!("eadr.l1_drain_nj_per_byte = inf {energy}")),
        (
            "eadr.recovery_ns_per_line=2e6",
            "eadr.recovery_ns_per_line = 2000000.0 must be a number from 0 to 1000000, because a millisecond is longer than \
             any memory takes"
                .to_owned(),
        ),
    ];
    for (text, sentence) in cases {
        assert_eq!(set_error(text), format!("set {text}: {sentence}"));
    }
}

/// Keys, names and values may have any characters and any length; an error is always one line.
#[test]
fn error_is_one_line_whatever_was_written() {
    let long = "x".repeat(1 << 20);
    let nested = "[".repeat(1 << 16);
    let cases = [
        "\"a\\nb\" = 1".to_owned(),
        "[\"con\\ntroller\"]\nx = 1".to_owned(),
        "base = \"x\\ny\"".to_owned(),
        "name = \"a\\r\\nb\\u001b[31m\"\n[controller]\nwpq_entries = 2".to_owned(),
        "[device]\nmapping = \"a\\nb\"".to_owned(),
        format!("{long} = 1"),
        format!("name = \"{long}\"\n[controller]\nwpq_entries = 2"),
        format!("[device]\nmapping = \"{long}\""),
        format!("device = [{}]", "1,".repeat(1 << 16)),
        format!("a = {nested}"),
        format!("{}b = 1", "a.".repeat(1 << 16)),
        "\"a".to_owned(),
    ];
    for (at, text) in cases.iter().enumerate() {
        let sentence = file(&format!("line{at}"), text).unwrap_err();
        assert!(!sentence.contains(char::is_control) && sentence.len() < 600, "{at}: {sentence}");
    }
    let sets =
        ["device.mapping=x\ny".to_owned(), "a\nb=1".to_owned(), format!("{long}=1"), format!("core.width={nested}")];
    for text in sets {
        let sentence = set_error(&text);
        assert!(!sentence.contains(char::is_control) && sentence.len() < 600, "{sentence}");
    }
    let sentence = load_machine(&format!("sec\npm{long}"), &[]).unwrap_err().0;
    assert!(!sentence.contains('\n') && sentence.len() < 600, "{sentence}");
}
