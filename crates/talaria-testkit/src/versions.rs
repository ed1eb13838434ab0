//! One test of each scenario and Codex version, so that a failure names the version.
//!
//! An ordinary run plays a scenario on 0.130.0 as well only where the version can make a difference: what Codex reads and
//! writes, what its sandbox keeps in, how it resumes and loses turns. The 0.130.0 tests of the other scenarios are
//! ignored, which every run prints; `TALARIA_ALL_VERSIONS=1 ./test` runs them too.

/// Makes the tests `v0_130::name` and `v0_166::name` of scenarios of the module, each `async fn name(codex: Codex)`.
///
/// ```text
/// both_versions!(these, run, on, both);
/// both_versions!(these, on, both; newest: and, these, on, the, newest);
/// both_versions!(newest: all, on, the, newest);
/// ```
#[macro_export]
macro_rules! both_versions {
    (newest: $($newest:ident),+ $(,)?) => {
        $crate::both_versions!(; newest: $($newest),+);
    };
    ($($both:ident),+ $(,)?) => {
        $crate::both_versions!($($both),+; newest:);
    };
    ($($both:ident),*; newest: $($newest:ident),* $(,)?) => {
        mod v0_130 {
            $(#[tokio::test(flavor = "multi_thread")] async fn $both() {
                super::$both($crate::Codex::v0_130()).await;
            })*
            $(
                #[tokio::test(flavor = "multi_thread")]
                #[ignore = "the version makes no difference; TALARIA_ALL_VERSIONS=1 ./test runs it"]
                async fn $newest() {
                    super::$newest($crate::Codex::v0_130()).await;
                }
            )*
        }
        mod v0_166 {
            $(#[tokio::test(flavor = "multi_thread")] async fn $both() {
                super::$both($crate::Codex::v0_166()).await;
            })*
            $(#[tokio::test(flavor = "multi_thread")] async fn $newest() {
                super::$newest($crate::Codex::v0_166()).await;
            })*
        }
    };
}
