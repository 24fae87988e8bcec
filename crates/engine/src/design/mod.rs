//! The list of designs, one small file for each, and what can be switched off ([`faults`]).

pub mod faults;

mod adr;
mod alc;
mod bbe;
mod co_located;
mod co_located_cc;
mod eadr;
mod eadr_all_operation;
mod eadr_cme;
mod eadr_mc_cme;
mod easy_pm;
mod fca;
mod hw_log;
mod ideal;
mod sca;
mod secpm;
mod secpm_no_cwr;
mod secpm_workshop;
mod sepencr;
mod unencrypted;
mod write_back;
mod write_through;

use crate::config::Variant;
use crate::parts::{Design, ProgramForm};

/// Every design, in the order in which tables show them.
pub const DESIGNS: [fn(Variant) -> Design; 21] = [
    |variant| unencrypted::design(variant),
    |variant| ideal::design(variant),
    |variant| write_back::design(variant),
    |variant| write_through::design(variant),
    |variant| secpm_workshop::design(variant),
    |variant| secpm_no_cwr::design(variant),
    |variant| secpm::design(variant),
    |variant| fca::design(variant),
    |variant| sca::design(variant),
    |variant| co_located::design(variant),
    |variant| co_located_cc::design(variant),
    |variant| hw_log::design(variant),
    |variant| alc::design(variant),
    |variant| easy_pm::design(variant),
    |variant| adr::design(variant),
    |variant| eadr::design(variant),
    |variant| eadr_mc_cme::design(variant),
    |variant| eadr_cme::design(variant),
    |variant| eadr_all_operation::design(variant),
    |variant| bbe::design(variant),
    |variant| sepencr::design(variant),
];

/// The names of all designs.
pub fn names() -> impl Iterator<Item = &'static str> {
    DESIGNS.iter().map(|design| design(Variant::Hardened).name)
}

/// The design that runs programs in `form` over plaintext memory, so that only the program can be at fault there; `None`
/// where hardware keeps the log: without encryption the program would have to keep one of its own.
pub fn plaintext_of(form: ProgramForm) -> Option<&'static str> {
    match form {
        ProgramForm::Plain | ProgramForm::Annotated => Some("unencrypted"),
        ProgramForm::FlushFree => Some("eadr"),
        ProgramForm::HardwareLogged => None,
    }
}

/// The design on which programs need no annotation of those that `form` has, because every write is counter-atomic.
pub fn unannotated_of(form: ProgramForm) -> Option<&'static str> {
    (form == ProgramForm::Annotated).then_some("fca")
}

/// The design called `name`, in the reading `variant`.
pub fn find(name: &str, variant: Variant) -> Option<Design> {
    DESIGNS.iter().map(|design| design(variant)).find(|design| design.name == name)
}
