//! Finds the source line to show for code and its callers: the innermost frame whose line is known and is neither in a
//! header nor in a system library. Inlined functions count as frames. So a flush in libpmem is shown at the call in the
//! program, with or without debug information of libpmem, and so is a flush by an intrinsic of the compiler.

use super::object_file::{Found, find};
use super::told;
use crate::message::Site;
use crate::trace::{Frame, Sites};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};

/// Folders whose sources and object files do not belong to the program.
const OF_THE_SYSTEM: [&str; 7] =
    ["/usr/include/", "/usr/local/include/", "/usr/lib/", "/usr/lib64/", "/lib/", "/lib64/", "/rustc/"];

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

/// The places of `sites`, by number. Reads the object files that they name. Functions with the names `wrappers` are passed
/// over if there is another frame.
pub fn places(sites: &Sites, wrappers: &BTreeSet<String>) -> Vec<Place> {
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
    let shown = numbers.map(|site| match sites.told(site) {
        [] => place(sites, sites.frames(site), &found, wrappers),
        frames => told::place(frames, wrappers),
    });
    std::iter::once(Place::unknown()).chain(shown).collect()
}

/// The place of a site among `places`, by number; the unknown one if it is not there.
pub fn place_of(places: &[Place], site: Site) -> &Place {
    static UNKNOWN: LazyLock<Place> = LazyLock::new(Place::unknown);
    places.get(site as usize).unwrap_or(&UNKNOWN)
}

/// Whether a function is one of `wrappers`, by its name without namespace and parameters.
pub(super) fn is_wrapper(function: Option<&str>, wrappers: &BTreeSet<String>) -> bool {
    let Some(whole) = function else { return false };
    let name = whole.split(['(', '<']).next().unwrap_or(whole);
    wrappers.contains(name.rsplit("::").next().unwrap_or(name)) || wrappers.contains(whole)
}

/// The place to show for `frames`, innermost first.
pub(super) fn place(
    sites: &Sites,
    frames: &[Frame],
    found: &FxHashMap<Frame, Found>,
    wrappers: &BTreeSet<String>,
) -> Place {
    let object_of = |frame: &Frame| {
        let path = sites.objects.get(frame.object? as usize)?;
        Some(String::from_utf8_lossy(path).into_owned())
    };
    let with_line = || {
        let of_frame = |frame| found.get(frame).into_iter().flat_map(|found| &found.sources);
        frames.iter().flat_map(move |frame| of_frame(frame).map(move |source| (frame, source)))
    };
    let own = || {
        with_line().filter(|(frame, source)| {
            !of_the_system(&source.file) && !object_of(frame).is_some_and(|path| of_the_system(&path))
        })
    };
    let called = own().find(|(_, source)| !is_wrapper(source.function.as_deref(), wrappers));
    if let Some((frame, source)) = called.or_else(|| own().next()).or_else(|| with_line().next()) {
        let text = format!("{}:{}", source.file, source.line);
        let (source, function) = (Some(text.clone()), source.function.clone());
        return Place { text, source, function, object: object_of(frame) };
    }
    let symbol_of = |frame: &Frame| found.get(frame).and_then(|found| found.symbol.as_ref());
    let called = frames.iter().find(|frame| !is_wrapper(symbol_of(frame).map(|(name, _)| name.as_str()), wrappers));
    let Some(innermost) = called.or(frames.first()) else { return Place::unknown() };
    let object = object_of(innermost);
    let symbol = symbol_of(innermost).cloned();
    let text = match (&symbol, &object) {
        (Some((name, 0)), _) => name.clone(),
        (Some((name, offset)), _) => format!("{name}+{offset:#x}"),
        (None, Some(path)) => format!("{}+{:#x}", file_name(path), innermost.offset),
        (None, None) => format!("{:#x}", innermost.offset),
    };
    Place { text, source: None, function: symbol.map(|(name, _)| name), object }
}

/// Whether a source or object file does not belong to the program.
pub(super) fn of_the_system(path: &str) -> bool {
    OF_THE_SYSTEM.iter().any(|folder| path.starts_with(folder))
}

pub(super) fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}
