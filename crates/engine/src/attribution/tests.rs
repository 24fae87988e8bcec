//! Lines and functions of a program that is compiled for the test, and files that are not object files.

use super::found::{Found, SourceLine};
use super::object_file::{find, look_up, unpacked};
use super::source_lines::{Frames, LIBRARY_FOLDERS, Place, Places, SYSTEM_LIBRARIES};
use super::{SiteWatch, by_line, places, shown as shown_of};
use crate::message::{Observer, Op, Site};
use crate::trace::{Frame, Sites};
use flate2::{Compression, write::ZlibEncoder};
use object::{CompressedData, CompressionFormat};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A flush in a system header, inlined into `library`, which `program` calls.
const SOURCE: &str = r#"
#line 3 "/usr/lib/gcc/intrinsics.h"
static inline __attribute__((always_inline)) void flush(volatile char* line) { __asm__ volatile(".byte 1,2,3,4,5,6,7,8,9" : "+m"(*line)); }
#line 40 "/home/author/library.c"
__attribute__((noinline)) void library(volatile char* line)
{
   flush(line);
}
#line 80 "/home/author/program.c"
void program(volatile char* line)
{
   library(line);
   *line = 1;
}
"#;

/// A compiled object file, removed when this is dropped.
struct Compiled(PathBuf);

impl Compiled {
    fn new(name: &str, options: &[&str]) -> Self {
        let path =
            |extension| std::env::temp_dir().join(format!("counterpoint-{}-{name}.{extension}", std::process::id()));
        let (source, object) = (path("c"), path("so"));
        std::fs::write(&source, SOURCE).unwrap();
        let common = ["-O1", "-w", "-shared", "-fPIC", "-nostdlib", "-o"];
        let status = Command::new("cc").args(common).arg(&object).args(options).arg(&source).status();
        std::fs::remove_file(&source).unwrap();
        assert!(status.expect("a C compiler, which linking needs as well").success());
        Compiled(object)
    }

    fn path(&self) -> &[u8] {
        self.0.as_os_str().as_bytes()
    }

    /// Byte offset of the flush in the file.
    fn flush(&self) -> u64 {
        let bytes = std::fs::read(&self.0).unwrap();
        bytes.windows(9).position(|window| window == [1, 2, 3, 4, 5, 6, 7, 8, 9]).unwrap() as u64
    }

    /// Byte offset of the last byte of the call of `library`, which follows it in the file.
    fn call(&self) -> u64 {
        let bytes = std::fs::read(&self.0).unwrap();
        let from = self.flush() as usize + 9;
        from as u64 + bytes[from..].iter().position(|&byte| byte == 0xe8).unwrap() as u64 + 4
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn lines(found: &Found) -> Vec<(&str, u32, &str)> {
    found.sources.iter().map(|at| (at.file.as_str(), at.line, at.function.as_deref().unwrap_or_default())).collect()
}

#[test]
fn code_has_lines_functions_and_symbols() {
    for packed in ["-gz=none", "-gz=zlib"] {
        let object = Compiled::new(packed, &["-g", packed]);
        let found = find(object.path(), &[object.flush(), object.call(), u64::MAX]);
        let inlined = [("/usr/lib/gcc/intrinsics.h", 3, "flush"), ("/home/author/library.c", 42, "library")];
        assert_eq!(lines(&found[0]), inlined);
        assert_eq!(lines(&found[1]), [("/home/author/program.c", 82, "program")]);
        assert_eq!(found[0].symbol.as_ref().unwrap().0, "library");
        assert_eq!(found[2], Found::default());
    }
}

/// Not every C compiler packs with zstd.
#[test]
fn section_is_unpacked_if_it_is_as_long_as_its_header_says() {
    let contents: Vec<u8> = (0..10_000u32).map(|at| (at / 7) as u8).collect();
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
    zlib.write_all(&contents).unwrap();
    let zlib = (CompressionFormat::Zlib, zlib.finish().unwrap());
    for (format, packed) in [zlib, (CompressionFormat::Zstandard, zstd::encode_all(&contents[..], 1).unwrap())] {
        let of = |data, uncompressed_size| unpacked(CompressedData { format, data, uncompressed_size });
        let length = contents.len() as u64;
        assert_eq!(of(&packed, length).as_deref(), Some(&contents[..]));
        for wrong in [0, length - 1, length + 1, u64::MAX] {
            assert_eq!(of(&packed, wrong), None, "{format:?} of {wrong} bytes");
        }
        assert_eq!(of(&packed[..packed.len() / 2], length), None, "{format:?}, cut off");
        assert_eq!(of(&contents, length), None, "{format:?}, not packed");
    }
}

fn shown(objects: &[&[u8]], frames: &[Frame]) -> Place {
    Places::default().of(&Sites::made_of(objects, &[frames]))[1].clone()
}

fn at(object: u32, offset: u64) -> Frame {
    Frame { object: Some(object), offset }
}

#[test]
fn innermost_line_that_is_the_authors_is_shown() {
    let object = Compiled::new("shown", &["-g"]);
    let frames = [at(0, object.flush()), at(0, object.call())];
    let place = shown(&[object.path()], &frames);
    assert_eq!((place.text.as_str(), place.function.as_deref()), ("/home/author/library.c:42", Some("library")));
    assert_eq!((place.source.as_deref(), place.object.as_deref()), (Some(&*place.text), object.0.to_str()));
    // A library without debug information: the call in the program counts.
    let library = Compiled::new("library", &[]);
    let frames = [at(1, library.flush()), at(0, object.call())];
    let place = shown(&[object.path(), library.path()], &frames);
    assert_eq!((place.text.as_str(), place.function.as_deref()), ("/home/author/program.c:82", Some("program")));
}

fn place(sites: &Sites, frames: &[Frame], found: &FxHashMap<Frame, Found>, wrappers: &BTreeSet<String>) -> Place {
    Frames { sites, frames, found, wrappers }.shown().0
}

fn names(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn wrappers_are_shown_at_their_call() {
    let shown = |objects: &[&[u8]], frames: &[Frame], wrappers: &[&str]| {
        places(&Sites::made_of(objects, &[frames]), &names(wrappers))[1].text.clone()
    };
    let object = Compiled::new("wrappers", &["-g"]);
    let frames = [at(0, object.flush()), at(0, object.call())];
    assert_eq!(shown(&[object.path()], &frames, &["library"]), "/home/author/program.c:82");
    assert_eq!(shown(&[object.path()], &frames, &["flush", "librar", "program"]), "/home/author/library.c:42");
    // If there is nothing but wrappers, the innermost.
    assert_eq!(shown(&[object.path()], &frames, &["library", "program"]), "/home/author/library.c:42");
    let symbols = Compiled::new("wrapper-symbols", &[]);
    let frames = [at(0, symbols.flush()), at(0, symbols.call())];
    assert!(shown(&[symbols.path()], &frames, &["library"]).starts_with("program+0x"));
    assert_eq!(shown(&[symbols.path()], &frames, &["library", "program"]), "library");
}

#[test]
fn wrapper_may_have_a_namespace_and_parameters() {
    let line =
        |function: &str, line| SourceLine { file: "main.cc".to_owned(), line, function: Some(function.to_owned()) };
    let shown = |function: &str, wrapper: &str| {
        let found = Found { sources: vec![line(function, 1), line("own()", 2)], symbol: None };
        let sites = Sites::made_of(&[b"/opt/program"], &[]);
        place(&sites, &[at(0, 1)], &[(at(0, 1), found)].into_iter().collect(), &names(&[wrapper])).text
    };
    for function in ["persist", "persist(void*)", "pm::persist(a::b const*)", "pm::persist<a::b>(a::b*)"] {
        assert_eq!(shown(function, "persist"), "main.cc:2", "{function}");
    }
    assert_eq!(shown("pm::persist(void*)", "pm::persist(void*)"), "main.cc:2");
    assert_eq!(shown("persistent(void*)", "persist"), "main.cc:1");
    assert_eq!(shown("persist::other(void*)", "persist"), "main.cc:1");
}

#[test]
fn copying_functions_are_shown_at_their_call() {
    let line = |function: Option<&str>| SourceLine {
        file: if function == Some("own") { "main.c" } else { "memmove.S" }.to_owned(),
        line: 7,
        function: function.map(str::to_owned),
    };
    let sites = Sites::made_of(&[b"/opt/static-program"], &[]);
    let shown = |symbol: &str, function| {
        let copy = Found { sources: vec![line(function)], symbol: Some((symbol.to_owned(), 9)) };
        let own = Found { sources: vec![line(Some("own"))], symbol: None };
        let found = [(at(0, 1), copy), (at(0, 2), own)].into_iter().collect();
        place(&sites, &[at(0, 1), at(0, 2)], &found, &BTreeSet::new()).text
    };
    for copies in ["memcpy", "__memmove_avx_unaligned_erms", "__strcpy_avx2", "pmem_memcpy_persist", "mem::memcpy"] {
        assert_eq!(shown(copies, None), "main.c:7", "{copies}");
        assert_eq!(shown("other", Some(copies)), "main.c:7", "{copies}");
    }
    for other in ["memcpy_to_log", "copy", "mem", "pmem_persistent_memcpy", "_memcpys"] {
        assert_eq!(shown(other, None), "memmove.S:7", "{other}");
    }
}

#[test]
fn libraries_of_the_system_are_known_by_folder_or_name() {
    let own = Found { sources: Vec::new(), symbol: Some(("own".to_owned(), 0)) };
    let shown = |object: &str| {
        let sites = Sites::made_of(&[object.as_bytes(), b"/opt/program"], &[]);
        let code = Found { sources: Vec::new(), symbol: Some(("code".to_owned(), 0)) };
        let found = [(at(0, 1), code), (at(1, 2), own.clone())].into_iter().collect();
        place(&sites, &[at(0, 1), at(1, 2)], &found, &BTreeSet::new()).text
    };
    for library in
        ["/usr/lib/x86_64-linux-gnu/libpmemobj.so.1.0.0", "/usr/local/lib/a.so", "/opt/libpmem.so.1", "/x/ld-musl"]
    {
        assert_eq!(shown(library), "own", "{library}");
    }
    for program in ["/usr/lib/postgresql/15/bin/postgres", "/opt/lib/mine.so", "/home/a/libpmemobj.so.1"] {
        assert_eq!(shown(program), "code", "{program}");
    }
}

#[test]
fn call_of_the_function_that_is_shown_is_known() {
    let object = Compiled::new("calls", &["-g"]);
    let frames = [at(0, object.flush()), at(0, object.call())];
    let sites = Sites::made_of(&[object.path()], &[&frames, &frames[..1], &[]]);
    let calls = |wrappers: &[&str]| shown_of(&sites, &names(wrappers)).calls;
    assert_eq!(calls(&[]), [None, Some("/home/author/program.c:82".to_owned()), None, None]);
    assert_eq!(calls(&["library"]), [None, None, None, None]);
}

#[test]
fn what_calls_main_is_not_the_programs() {
    let named = |name: &str| Found { sources: Vec::new(), symbol: Some((name.to_owned(), 4)) };
    let sites = Sites::made_of(&[b"/lib/libc.so.6", b"/opt/program"], &[]);
    let found = [(at(0, 1), named("exit")), (at(1, 2), named("_start"))].into_iter().collect();
    assert_eq!(place(&sites, &[at(0, 1), at(1, 2)], &found, &BTreeSet::new()).text, "exit+0x4");
}

#[test]
fn lines_of_the_system_are_shown_only_where_there_are_no_others() {
    let line = |file: &str| SourceLine { file: file.to_owned(), line: 7, function: None };
    let with = |file| Found { sources: vec![line(file)], symbol: None };
    let sites = Sites::made_of(&[b"/lib/x86_64-linux-gnu/libc.so.6", b"/opt/program"], &[]);
    let (library, header, own) = (at(0, 1), at(1, 2), at(1, 3));
    let found = [(library, with("./string/memset.S")), (header, with("/usr/include/pmem.h")), (own, with("main.c"))];
    let found = found.into_iter().collect();
    let shown = |frames: &[Frame]| place(&sites, frames, &found, &BTreeSet::new()).text;
    assert_eq!(shown(&[library, header, own]), "main.c:7");
    assert_eq!(shown(&[library, header]), "/usr/include/pmem.h:7");
    assert_eq!(shown(&[library]), "./string/memset.S:7");
    assert_eq!(shown(&[library, at(1, 9)]), "program+0x9");
    assert_eq!(shown(&[at(1, 9), header]), "/usr/include/pmem.h:7");
}

#[test]
fn without_lines_symbols_without_symbols_objects_without_objects_addresses() {
    let object = Compiled::new("symbols", &[]);
    let place = shown(&[object.path()], &[at(0, object.flush())]);
    assert_eq!((place.text.as_str(), place.source, place.function.as_deref()), ("library", None, Some("library")));
    let place = shown(&[object.path()], &[at(0, object.flush() + 2)]);
    assert_eq!(place.text, "library+0x2");
    let place = shown(&[b"/gone/lib.so"], &[at(0, 0x123)]);
    assert_eq!(
        (place.text.as_str(), place.function, place.object.as_deref()),
        ("lib.so+0x123", None, Some("/gone/lib.so"))
    );
    assert_eq!(shown(&[], &[Frame { object: None, offset: 0x40 }]).text, "0x40");
    assert_eq!(shown(&[], &[]), Place::unknown());
}

#[test]
fn what_is_no_object_file_says_nothing() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs");
    for path in ["/nowhere/at/all", "relative", "/dev/zero", "/", "/nul\0in/it", source] {
        assert_eq!(find(path.as_bytes(), &[0, 64]), vec![Found::default(); 2], "{path}");
    }
}

#[test]
fn broken_object_files_do_no_harm() {
    let object = Compiled::new("broken", &["-g"]);
    let offsets = [object.flush(), object.call()];
    let bytes = std::fs::read(&object.0).unwrap();
    for length in (0..bytes.len()).step_by(61) {
        let _ = look_up(&bytes[..length], &offsets);
    }
    for at in (0..bytes.len()).step_by(7) {
        let mut broken = bytes.clone();
        broken[at] ^= 0xff;
        let _ = look_up(&broken, &offsets);
    }
}

#[test]
fn costs_are_merged_by_line_and_sorted_by_what_was_waited_for() {
    let (flush, fence, same) = (1, 2, 3);
    let mut watch = SiteWatch::default();
    watch.dispatched(0, flush, &Op::Clwb { address: 0 }, 1);
    watch.flush_sent(100, 0, flush, Default::default(), false, Some(1_100));
    watch.flush_sent(100, 0, same, Default::default(), false, None);
    watch.flush_acknowledged(3_100, 0, Default::default(), false);
    watch.dispatched(0, fence, &Op::Sfence, 1);
    watch.fence_stalled(0, fence, 1_000, 3_200);
    watch.load_stalled(0, fence, 4_000, 4_500);
    let place = |text: &str| Place { text: text.to_owned(), ..Place::unknown() };
    let places = [Place::unknown(), place("flush"), place("fence"), place("flush")];
    let lines = by_line(&watch, &places);
    let [first, second] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((first.place.as_str(), first.flushes, first.waited_for_ns, first.fences), ("flush", 2, 2.2, 0));
    assert_eq!((first.flush_latency_ns, first.flush_latency_max_ns), (Some(2.0), Some(3.0)));
    let loads = (second.load_stall_ns, second.fence_stall_ns, second.flush_latency_ns);
    assert_eq!((second.place.as_str(), loads, second.waited_for_ns), ("fence", (0.5, 2.2, None), 0.0));
    // A site without a place is unknown.
    assert_eq!(by_line(&watch, &[]).iter().map(|line| line.place.as_str()).collect::<Vec<_>>(), ["unknown"]);
    assert_eq!(watch.costs().map(|(site, _)| site).collect::<Vec<Site>>(), [flush, fence, same]);
}

/// The recorder records callers where this looks for them.
#[test]
fn libraries_of_the_system_are_those_of_the_recorder() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recorder/outside.c");
    let source = std::fs::read_to_string(&file).unwrap();
    let body = &source[source.find("static Bool is_library").unwrap()..source.find("static Bool is_header").unwrap()];
    let list = |name: &str| {
        let from = &body[body.find(&format!("{name}[] = {{")).unwrap()..];
        let texts = from[..from.find("NULL").unwrap()].split('"').skip(1).step_by(2);
        texts.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        (list("folders"), list("names")),
        (LIBRARY_FOLDERS.map(str::to_owned).into(), SYSTEM_LIBRARIES.map(str::to_owned).into())
    );
}
