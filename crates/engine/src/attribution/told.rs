//! The place to show for a stack that the recording itself tells: the innermost frame with a line that is not one of a
//! library. Which frames these are, their functions and files say, because such a stack has few paths: of a source only
//! the file's name, and of an object only where no line is known.

use super::source_lines::{Place, file_name, is_wrapper, of_the_system};
use super::wrappers::copies_in;
use crate::trace::Told;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Functions that are not the program's either.
const STARTING: [&str; 5] = ["(below main)", "_start", "__libc_start_main", "__libc_start_call_main", "start_thread"];
/// Namespaces of headers.
const NAMESPACES: [&str; 3] = ["std::", "__gnu_cxx::", "pmem::"];
/// Sources of Valgrind's own versions of functions.
const OF_VALGRIND: &str = "vg_replace_";
/// How public functions of PMDK begin, and the sources of its libraries.
const PMDK: [&str; 5] = ["pmem_", "pmem2_", "pmemobj_", "pmemblk_", "pmemlog_"];
const PMDK_SOURCES: [&str; 22] = [
    "alloc.c",
    "blk.c",
    "container_ravl.c",
    "deep_flush.c",
    "heap.c",
    "lane.c",
    "libpmem.c",
    "libpmemobj.c",
    "list.c",
    "log.c",
    "memblock.c",
    "memops.c",
    "memops_generic.c",
    "obj.c",
    "palloc.c",
    "persist.c",
    "pmalloc.c",
    "pmem.c",
    "recycler.c",
    "sync.c",
    "tx.c",
    "ulog.c",
];
/// Public functions of PMDK that call functions of the program: constructors and callbacks.
const CALLING_BACK: [&str; 8] = [
    "pmemobj_alloc",
    "pmemobj_list_insert_new",
    "pmemobj_root_construct",
    "pmemobj_tx_abort",
    "pmemobj_tx_commit",
    "pmemobj_tx_end",
    "pmemobj_tx_process",
    "pmemobj_xalloc",
];

/// The place to show for `frames`, innermost first. Functions with the names `wrappers` are passed over if there is another
/// frame.
pub(super) fn place(frames: &[Arc<Told>], wrappers: &BTreeSet<String>) -> Place {
    let inside = frames.iter().position(|frame| is_pmdk(frame));
    let of_library = |(number, frame): (usize, &Told)| match inside {
        Some(public) if number < public => {
            !CALLING_BACK.contains(&name(&frames[public])) || is_of(frame, &PMDK_SOURCES) || is_library(frame)
        }
        _ => is_library(frame),
    };
    let all = || frames.iter().map(Arc::as_ref);
    let own = || all().enumerate().filter(|&frame| !of_library(frame)).map(|(_, frame)| frame);
    let with_line = |frame: &&Told| frame.source.is_some();
    let calls = |frame: &&Told| !is_wrapper(frame.function.as_deref(), wrappers);
    let shown = (own().filter(with_line).find(calls))
        .or_else(|| own().find(with_line))
        .or_else(|| own().filter(|frame| frame.function.is_some()).find(calls))
        .or_else(|| all().find(with_line))
        .or_else(|| all().find(|frame| frame.function.is_some()))
        .or_else(|| all().next());
    shown.map_or_else(Place::unknown, of_frame)
}

fn of_frame(frame: &Told) -> Place {
    let Told { address, function, source, object } = frame;
    let source = source.as_ref().map(|(file, line)| format!("{file}:{line}"));
    let text = source.clone().or_else(|| function.clone()).unwrap_or_else(|| match object {
        Some(path) => format!("{} at {address:#x}", file_name(path)),
        None => format!("{address:#x}"),
    });
    Place { text, source, function: function.clone(), object: object.clone() }
}

/// The function without its type, namespace and parameters are kept.
fn name(frame: &Told) -> &str {
    let whole = frame.function.as_deref().unwrap_or_default();
    let end = whole.find(['(', '<']).filter(|&end| end > 0).unwrap_or(whole.len());
    whole[..end].rsplit(' ').next().unwrap_or_default()
}

/// Whether the frame's source is one of `files`, by its name.
fn is_of(frame: &Told, files: &[&str]) -> bool {
    frame.source.as_ref().is_some_and(|(file, _)| files.contains(&file_name(file)))
}

/// Whether the frame is a public function of PMDK. A program may have functions that begin in the same way.
fn is_pmdk(frame: &Told) -> bool {
    let name = name(frame);
    PMDK.iter().any(|start| name.starts_with(start)) && (frame.source.is_none() || is_of(frame, &PMDK_SOURCES))
}

/// Whether the frame is one of a library that stores for its caller, whoever calls it.
fn is_library(frame: &Told) -> bool {
    let name = name(frame);
    let file = frame.source.as_ref().map(|(file, _)| file_name(file));
    let path = frame.source.as_ref().map(|(path, _)| path.as_str()).or(frame.object.as_deref());
    path.is_some_and(of_the_system)
        || file.is_some_and(|file| file.starts_with(OF_VALGRIND))
        || STARTING.contains(&name)
        || NAMESPACES.iter().any(|space| name.starts_with(space))
        || copies_in(name, file)
        || is_pmdk(frame)
}

#[cfg(test)]
mod tests {
    use super::super::told::*;

    /// The place of frames like `function (file:line)` or `function (in object)`, innermost first.
    fn shown(frames: &[&str], wrappers: &[&str]) -> Place {
        let frame = |text: &&str| {
            let (function, at) = text.strip_suffix(')').unwrap_or(text).rsplit_once(" (").unwrap_or((text, "in ???"));
            let known = |text: &str| (text != "???").then(|| text.to_owned());
            let object = at.strip_prefix("in ").and_then(known);
            let line = |(file, line): (&str, &str)| (file.to_owned(), line.parse().unwrap());
            let source = if at.starts_with("in ") { None } else { at.rsplit_once(':').map(line) };
            Arc::new(Told { address: 0x40, function: known(function), source, object })
        };
        let frames: Vec<Arc<Told>> = frames.iter().map(frame).collect();
        place(&frames, &wrappers.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn innermost_frame_of_the_program_is_shown() {
        let place = shown(&["insert (list.c:44)", "main (list.c:90)"], &[]);
        let (source, function) = (Some("list.c:44".to_owned()), Some("insert".to_owned()));
        assert_eq!(place, Place { text: "list.c:44".to_owned(), source, function, object: None });
        for inner in [
            &["memcpy (vg_replace_strmem.c:1140)"][..],
            &["strncpy (strncpy.c:9)"],
            &["__memmove_avx_unaligned_erms (memmove-vec-unaligned-erms.S:250)"],
            &["??? (in /usr/lib/x86_64-linux-gnu/libpmem.so.1.0.0)", "??? (in /lib/libpmemobj.so.1)"],
            &["memmove_mov_avx_noflush (memcpy_t_avx.h:99)", "pmem_memcpy_persist (pmem.c:520)"],
            &["ulog_store (ulog.c:3)", "operation_process (odd.c:7)", "pmemobj_free (obj.c:80)"],
            &["palloc_operation (palloc.c:3)", "pmemobj_alloc (obj.c:80)"],
            &["void std::swap<int>(int&, int&) (move.h:3)", "std::vector<int>::push_back(int) (stl_vector.h:9)"],
            &["pmem::obj::p<int>::operator=(int) (p.hpp:80)"],
            &["set (/usr/include/set.h:3)"],
            &["helper (in /opt/libother.so)"],
        ] {
            let stack =
                [inner, &["insert (list.c:44)", "main (list.c:90)", "(below main) (libc-start.c:308)"]].concat();
            assert_eq!(shown(&stack, &[]).text, "list.c:44", "{inner:?}");
        }
    }

    #[test]
    fn functions_of_the_program_are_not_taken_for_those_of_a_library() {
        for own in [
            "pmem_insert (tree.c:7)",
            "memcpy_to_pool (tree.c:7)",
            "memsets (tree.c:7)",
            "stdlike (tree.c:7)",
            "construct (tree.c:7)",
        ] {
            let stack = [own, "palloc_operation (palloc.c:3)", "pmemobj_alloc (obj.c:80)", "main (list.c:90)"];
            assert_eq!(shown(&stack, &[]).text, "tree.c:7", "{own}");
        }
    }

    #[test]
    fn wrappers_are_passed_over_if_there_is_another_frame() {
        let stack = ["list::set(int*) (list.h:3)", "insert (list.c:44)", "main (list.c:90)"];
        assert_eq!(shown(&stack, &["set"]).text, "list.c:44");
        assert_eq!(shown(&stack, &["set", "insert"]).text, "list.c:90");
        assert_eq!(shown(&stack, &["set", "insert", "main"]).text, "list.h:3");
    }

    #[test]
    fn without_lines_the_function_or_what_else_is_told() {
        assert_eq!(shown(&["memcpy (vg_replace_strmem.c:3)", "insert (in /home/me/list)"], &[]).text, "insert");
        assert_eq!(
            shown(&["memcpy (vg_replace_strmem.c:3)", "??? (in /home/me/list)"], &[]).text,
            "vg_replace_strmem.c:3"
        );
        assert_eq!(shown(&["??? (in /home/me/list)"], &[]).text, "list at 0x40");
        assert_eq!(shown(&["???"], &[]).text, "0x40");
        assert_eq!(shown(&[], &[]).text, "unknown");
    }
}
