//! Finds the source line to show for code and its callers: the innermost frame of the program's own code, whose line is
//! known and is in no header of the system. Inlined functions count as frames. So a flush in libpmem is shown at the call
//! in the program, with or without debug information of libpmem, and so are a store by `memcpy` and a flush by an intrinsic
//! of the compiler.

use super::found::{Found, SourceLine};
use super::object_file::find;
use super::told;
use super::wrappers::copies;
use crate::message::Site;
use crate::trace::{Frame, Sites};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};

/// Folders whose sources do not belong to the program.
const SYSTEM_SOURCES: [&str; 7] =
    ["/usr/include/", "/usr/local/include/", "/usr/lib/", "/usr/lib64/", "/lib/", "/lib64/", "/rustc/"];
/// Folders whose libraries do not. These and the names are those of the recorder, which records callers of such code
/// (`recorder/outside.c`).
pub(super) const LIBRARY_FOLDERS: [&str; 8] =
    ["/lib/", "/lib32/", "/lib64/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/", "/usr/local/lib/", "/usr/local/lib64/"];
/// Libraries that do not, wherever they lie, by the beginnings of their names.
pub(super) const SYSTEM_LIBRARIES: [&str; 12] = [
    "libc.so",
    "libc-2.",
    "libpthread.so",
    "libpthread-2.",
    "ld-linux",
    "ld-2.",
    "ld-musl",
    "libstdc++.so",
    "libc++.so",
    "libgcc_s.so",
    "libpmem.so",
    "libpmem2.so",
];
/// Where a program begins, which is in its object file but not its own.
const ENTRY: &str = "_start";

/// A place in the program, as shown to users.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct Place {
    /// The place as text: `file:line`, otherwise `symbol+0x..`, otherwise `object+0x..`, otherwise an address, or `unknown`.
    #[serde(rename = "place")]
    pub text: String,
    /// `file:line` with the whole path; null if debug information does not have it.
    pub source: Option<String>,
    /// Function or symbol; null if neither is known.
    pub function: Option<String>,
    /// Path of the object file; null if none was mapped.
    pub object: Option<String>,
}

impl Place {
    /// A locked instruction here, which fences by chance.
    pub fn as_chance_fence(&self) -> String {
        format!("the locked instruction at {}, which is executed for another purpose", self.text)
    }

    /// The place of operations that come from nowhere in the recorded code.
    pub fn unknown() -> Self {
        Place { text: "unknown".to_owned(), source: None, function: None, object: None }
    }
}

/// A cache of the places of recordings, because many runs ask for the same ones.
#[derive(Default)]
pub struct Places(Mutex<Vec<(Sites, Arc<[Place]>)>>);

impl Places {
    /// The places of `sites`, by number. Reads the object files that they name.
    pub fn of(&self, sites: &Sites) -> Arc<[Place]> {
        let mut known = self.0.lock().expect("finding a place does not panic");
        if let Some((_, places)) = known.iter().find(|(of, _)| of == sites) {
            return Arc::clone(places);
        }
        let places: Arc<[Place]> = places(sites, &BTreeSet::new()).into();
        known.push((sites.clone(), Arc::clone(&places)));
        places
    }
}

/// What is shown of sites, by number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    pub places: Vec<Place>,
    /// The line of the program that calls the function of the place, as far as it is known.
    pub calls: Vec<Option<String>>,
}

/// The places of `sites`, by number, as in [`shown`].
pub fn places(sites: &Sites, wrappers: &BTreeSet<String>) -> Vec<Place> {
    shown(sites, wrappers).places
}

/// What is shown of `sites`. Reads the object files that they name. Functions with the names `wrappers` are passed over if
/// there is another frame.
pub fn shown(sites: &Sites, wrappers: &BTreeSet<String>) -> Shown {
    let numbers = 1..=sites.count();
    let mut offsets: Vec<Vec<u64>> = vec![Vec::new(); sites.objects.len()];
    for frame in numbers.clone().flat_map(|site| sites.frames(site)) {
        if let Some(of_object) = frame.object.and_then(|object| offsets.get_mut(object as usize)) {
            of_object.push(frame.offset);
        }
    }
    let mut found: FxHashMap<Frame, Found> = FxHashMap::default();
    for ((object, path), mut offsets) in (0..).zip(&sites.objects).zip(offsets) {
        offsets.sort_unstable();
        offsets.dedup();
        let answers = find(path, &offsets);
        found.extend(offsets.iter().map(|&offset| Frame { object: Some(object), offset }).zip(answers));
    }
    let (mut places, mut calls) = (vec![Place::unknown()], vec![None]);
    for site in numbers {
        let told = sites.told(site);
        let frames = Frames { sites, frames: sites.frames(site), found: &found, wrappers };
        let (place, call) = frames.shown();
        places.push(if told.is_empty() { place } else { told::place(told, wrappers) });
        calls.push(call);
    }
    Shown { places, calls }
}

/// The place of a site among `places`, by number; the unknown one if it is not there.
pub fn place_of(places: &[Place], site: Site) -> &Place {
    static UNKNOWN: LazyLock<Place> = LazyLock::new(Place::unknown);
    places.get(site as usize).unwrap_or(&UNKNOWN)
}

/// Whether a function is one of `wrappers`, by its name without namespace and parameters, or copies for its caller.
pub(super) fn is_wrapper(function: Option<&str>, wrappers: &BTreeSet<String>) -> bool {
    let Some(whole) = function else { return false };
    let name = whole.split(['(', '<']).next().unwrap_or(whole);
    let name = name.rsplit("::").next().unwrap_or(name);
    wrappers.contains(name) || wrappers.contains(whole) || copies(name)
}

/// Whether a source or object file does not belong to the program.
pub(super) fn of_the_system(source: &str) -> bool {
    SYSTEM_SOURCES.iter().any(|folder| source.starts_with(folder))
}

/// Whether an object file is a library that does not belong to the program; some programs lie in these folders.
fn is_system_library(path: &str) -> bool {
    let name = file_name(path);
    SYSTEM_LIBRARIES.iter().any(|library| name.starts_with(library))
        || (name.contains(".so") && LIBRARY_FOLDERS.iter().any(|folder| path.starts_with(folder)))
}

/// A line, and the frame that has it.
type Line<'a> = (&'a Frame, &'a SourceLine);

/// The frames of a site, innermost first, and what is known of them.
pub(super) struct Frames<'a> {
    pub sites: &'a Sites,
    pub frames: &'a [Frame],
    pub found: &'a FxHashMap<Frame, Found>,
    pub wrappers: &'a BTreeSet<String>,
}

impl<'a> Frames<'a> {
    fn object_of(&self, frame: &Frame) -> Option<Cow<'a, str>> {
        Some(String::from_utf8_lossy(self.sites.objects.get(frame.object? as usize)?))
    }

    fn sources_of(&self, frame: &Frame) -> &'a [SourceLine] {
        self.found.get(frame).map_or(&[], |found| &found.sources)
    }

    fn symbol_of(&self, frame: &Frame) -> Option<&'a (String, u64)> {
        self.found.get(frame)?.symbol.as_ref()
    }

    fn symbol_name(&self, frame: &Frame) -> Option<&'a str> {
        self.symbol_of(frame).map(|(name, _)| name.as_str())
    }

    /// Those in the program's own object files.
    fn own(&self) -> impl Iterator<Item = &'a Frame> {
        self.frames.iter().filter(|frame| self.object_of(frame).is_some_and(|path| !is_system_library(&path)))
    }

    /// The lines of the program's own sources.
    fn own_lines(&self) -> Vec<Line<'a>> {
        self.compiled_lines().filter(|(_, source)| !of_the_system(&source.file)).collect()
    }

    /// The lines of what is compiled into the program.
    fn compiled_lines(&self) -> impl Iterator<Item = Line<'a>> {
        self.own().flat_map(|frame| self.sources_of(frame).iter().map(move |source| (frame, source)))
    }

    /// Which of `lines` to show: the first that is not in a wrapper, otherwise the first.
    fn which(&self, lines: &[Line<'a>]) -> usize {
        // Assembler has lines without functions.
        let function = |&(frame, source): &Line<'a>| source.function.as_deref().or_else(|| self.symbol_name(frame));
        lines.iter().position(|line| !is_wrapper(function(line), self.wrappers)).unwrap_or(0)
    }

    fn any_line(&self) -> Option<Line<'a>> {
        self.frames.iter().find_map(|frame| Some((frame, self.sources_of(frame).first()?)))
    }

    fn is_called(&self, frame: &Frame) -> bool {
        !is_wrapper(self.symbol_name(frame), self.wrappers)
    }

    /// The innermost frame of the program that is neither a wrapper nor the compiler's.
    fn own_symbol(&self) -> Option<&'a Frame> {
        self.own().find(|frame| self.is_called(frame) && self.symbol_name(frame) != Some(ENTRY))
    }

    /// The innermost frame, without wrappers if there is another.
    fn any_symbol(&self) -> Option<&'a Frame> {
        self.frames.iter().find(|frame| self.is_called(frame)).or(self.frames.first())
    }

    fn at_line(&self, (frame, source): Line<'a>) -> Place {
        let text = format!("{}:{}", source.file, source.line);
        let object = self.object_of(frame).map(Cow::into_owned);
        Place { source: Some(text.clone()), text, function: source.function.clone(), object }
    }

    fn at_symbol(&self, frame: &Frame) -> Place {
        let object = self.object_of(frame).map(Cow::into_owned);
        let symbol = self.symbol_of(frame).cloned();
        let text = match (&symbol, &object) {
            (Some((name, 0)), _) => name.clone(),
            (Some((name, offset)), _) => format!("{name}+{offset:#x}"),
            (None, Some(path)) => format!("{}+{:#x}", file_name(path), frame.offset),
            (None, None) => format!("{:#x}", frame.offset),
        };
        Place { text, source: None, function: symbol.map(|(name, _)| name), object }
    }

    /// The place to show, and the line that calls its function.
    pub fn shown(&self) -> (Place, Option<String>) {
        let lines = self.own_lines();
        let which = self.which(&lines);
        let own = lines.get(which).copied().or_else(|| self.compiled_lines().next());
        let own = own.map(|line| self.at_line(line)).or_else(|| self.own_symbol().map(|frame| self.at_symbol(frame)));
        let any = || self.any_line().map(|line| self.at_line(line));
        let place = own.or_else(any).or_else(|| self.any_symbol().map(|frame| self.at_symbol(frame)));
        let call = lines.get(which + 1).map(|(_, source)| format!("{}:{}", source.file, source.line));
        (place.unwrap_or_else(Place::unknown), call)
    }
}

pub(super) fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}
