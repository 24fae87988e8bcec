//! A hint to the host's memory.

/// Has the host bring the cache line of `value` near, because it will be used soon. Has no effect that a program can
/// see, and none at all on hosts other than x86-64.
#[inline]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction reads nothing and faults on no address; every x86-64 processor has it.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
