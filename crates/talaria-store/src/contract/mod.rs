//! The promises of a store, each as a function that takes an empty store and fails the test that calls it.
//!
//! `contract_tests!` makes a test of each. Another backend runs the same list with another factory.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken promise fails the test that called")]

pub mod answers;
pub mod api_tokens;
pub mod appends;
pub mod audit;
pub mod budgets;
pub mod delegations;
pub mod escrow;
pub mod forgetting;
pub mod forks;
pub mod homes;
pub mod hosts;
pub mod imports;
pub mod leases;
pub mod memory;
pub mod model_attempts;
pub mod model_history;
pub mod outbox;
pub mod reviews;
pub mod scene;
pub mod search;
pub mod sessions;
pub mod skills;
pub mod tasks;
pub mod tool_calls;
pub mod turns;
pub mod usage;

/// Makes a test of every promise. The factory is an async function that returns an empty store and a value that keeps
/// its place alive.
#[macro_export]
macro_rules! contract_tests {
    ($make:path) => {
        $crate::contract_tests! { $make,
            appends: [
                numbers_count_from_one_without_a_gap,
                rows_change_with_their_events_or_not_at_all,
                an_outcome_comes_with_what_is_owed_for_it,
                a_bad_batch_does_not_spoil_its_neighbours,
                many_callers_at_once_get_numbers_of_their_own,
                a_message_written_twice_is_one_message_with_the_newer_text,
                a_batch_larger_than_any_statement_is_kept_whole,
                events_are_paged_by_number,
                the_steps_of_one_turn_are_found,
                threads_and_compactions_are_found,
                a_caller_that_stops_waiting_leaves_no_half_of_a_batch,
            ],
            leases: [
                every_engine_gets_a_higher_epoch,
                a_write_under_an_older_epoch_is_refused,
                a_living_lease_is_not_taken,
                a_lease_on_nothing_is_refused,
            ],
            answers: [
                one_of_many_answers_wins_and_the_others_learn_whose,
                what_is_closed_cannot_be_answered,
                an_answer_that_is_taken_back_leaves_nothing,
                a_sealed_answer_is_erased_when_it_is_delivered,
                requests_are_listed_by_session_and_state,
                who_asks_comes_back_unchanged,
                a_request_without_a_host_lives_like_any_other,
            ],
            api_tokens: [
                a_name_is_that_of_one_token_at_a_time,
                a_token_is_revoked_once,
                the_latest_use_of_a_token_is_kept,
            ],
            audit: [
                only_the_answer_that_won_is_in_the_log,
                a_start_and_its_row_are_written_together,
                the_log_is_paged_newest_first,
                refusals_are_bounded_and_never_push_out_what_was_done,
            ],
            budgets: [
                a_reservation_is_replaced_by_what_was_spent,
                an_engine_that_lost_the_session_reserves_nothing,
                what_a_former_engine_sent_counts_as_all_that_it_reserved,
                what_is_not_known_of_a_cost_counts_as_its_bound,
                a_delegated_task_counts_for_its_parents,
                days_and_providers_are_counted_apart,
                an_answer_allows_more_once,
            ],
            usage: [
                costs_are_added_up_by_day_model_and_session,
                the_same_name_is_counted_once,
                unreported_and_partial_costs_are_marked,
                attempts_are_counted_with_their_source_and_price,
                costs_stay_when_their_session_is_removed,
            ],
            delegations: [
                a_call_delegates_each_goal_once,
                a_result_is_owed_from_the_end_until_it_is_delivered,
                only_what_was_carried_there_is_delivered,
                an_end_is_reported_once,
                an_owed_result_keeps_its_task,
            ],
            escrow: [
                the_rest_of_escrow_expires,
                an_answer_given_at_the_last_moment_is_not_voided,
            ],
            sessions: [
                sessions_are_listed_newest_first_page_by_page,
                a_session_is_found_by_id_alias_and_beginning,
                a_patch_changes_only_what_it_names,
                an_id_or_alias_is_given_once,
                a_session_is_found_by_its_thread,
                a_session_is_renamed,
            ],
            turns: [
                the_ledger_keeps_every_stage_and_its_time,
                sealed_input_is_erased_when_codex_has_it,
                sealed_input_is_replaced_only_before_codex_has_it,
                only_what_waits_behind_a_turn_is_taken_back,
                what_is_not_settled_is_found,
                a_turn_is_written_down_once,
            ],
            search: [
                words_are_found_newest_first,
                scripts_without_blanks_are_found,
                a_short_word_that_is_everywhere_is_found,
                odd_syntax_is_only_text,
                a_changed_message_is_found_by_its_new_text,
                a_filter_bounds_what_is_found,
                a_kind_of_message_is_searched_alone,
            ],
            forgetting: [
                pruning_does_what_the_preview_said,
                what_runs_or_waits_is_not_pruned,
                a_session_stays_until_everybody_was_told,
                old_events_are_trimmed_from_the_front,
                events_of_an_unsettled_turn_are_not_trimmed,
                many_events_are_trimmed_in_steps,
            ],
            forks: [
                a_fork_has_the_beginning_of_its_original_and_goes_its_own_way,
                only_a_finished_turn_is_forked,
                an_undone_turn_stays_on_record_and_is_not_found,
                a_thread_that_is_left_is_forgotten_with_its_host,
            ],
            homes: [
                the_home_of_a_database_is_recorded,
                what_is_left_to_the_original_is_not_acted_on,
                what_is_owed_by_two_homes_is_a_possible_repeat,
            ],
            hosts: [
                a_host_is_kept_before_it_exists_and_until_it_ends,
                a_host_is_kept_as_long_as_a_request_names_it,
            ],
            imports: [
                a_task_comes_once_and_never_under_a_name_that_is_taken,
                a_conversation_grows_and_knows_where_it_came_from,
                an_import_is_undone_unless_its_sessions_were_used_since,
            ],
            memory: [
                an_entry_changes_with_its_revision_or_not_at_all,
                of_two_writers_one_has_to_read_again,
                every_former_text_is_kept,
                a_proposal_is_decided_once,
                a_file_and_the_changes_it_made_are_written_together,
                what_a_conversation_was_sent_is_kept_as_long_as_it,
            ],
            model_attempts: [
                an_attempt_is_planned_once,
                an_attempt_moves_forward_and_never_back,
                facts_of_an_attempt_accumulate,
                an_attempt_ends_once_with_its_evidence,
                what_a_former_engine_left_open_is_abandoned,
                an_engine_cannot_say_how_the_attempt_of_another_ended,
                attempts_are_removed_with_their_session,
            ],
            model_history: [
                entries_are_numbered_without_a_gap_and_never_changed,
                an_attempt_ends_with_its_items_or_not_at_all,
                an_attempt_without_an_answer_adds_no_items,
                an_engine_that_lost_the_session_adds_nothing,
                history_is_removed_with_its_session_and_counts_for_its_size,
            ],
            outbox: [
                an_entry_is_claimed_by_one_at_a_time,
                two_claimers_never_get_the_same_entry,
                every_entry_has_a_fate,
                what_a_lost_deliverer_had_is_a_possible_repeat,
                the_claims_of_those_who_are_gone_can_be_ended,
                without_a_target_nothing_is_claimed,
                a_failing_target_does_not_starve_newer_entries,
                what_waits_can_be_hurried,
                candidates_are_listed_by_owner,
                telling_does_not_change_the_session,
            ],
            reviews: [
                counters_fall_only_with_a_job,
                a_counter_falls_with_its_own_question,
                a_stretch_is_reviewed_once,
                a_review_moves_in_its_order_and_ends_once,
                what_a_former_engine_left_running_is_due_again,
                what_a_review_changed_is_found_by_its_name,
                reviews_go_with_their_session,
            ],
            skills: [
                the_same_change_waits_once_and_their_number_is_bounded,
                a_proposal_about_a_skill_is_decided_once,
                a_review_proposes_skills_once_and_repeats_no_decision,
                a_use_of_a_skill_counts_once_and_stays,
                an_archived_skill_is_known_by_where_it_was,
            ],
            tasks: [
                a_task_is_made_with_its_session_or_not_at_all,
                a_task_changes_only_under_its_lease,
                tasks_are_listed_by_their_last_change_page_by_page,
                a_line_shows_the_last_turn_and_what_waits,
                tasks_are_listed_by_owner_and_whether_they_go_on,
            ],
            tool_calls: [
                an_offer_is_kept_once,
                a_call_begins_once,
                a_call_that_is_declined_never_began,
                what_a_former_engine_left_running_is_unknown,
                an_effect_record_is_kept_from_the_beginning_of_the_run,
                only_calls_with_a_record_are_left_for_settlement,
                a_call_is_settled_once_by_a_later_engine,
                a_call_of_a_finished_turn_can_still_be_settled,
                a_sealed_result_is_erased_when_it_is_delivered,
                the_end_of_a_turn_erases_the_results_of_its_calls,
                the_calls_go_with_their_session,
                a_session_keeps_the_contract_of_its_thread,
            ],
        }
    };
    ($make:path, $($group:ident: [$($promise:ident,)*],)*) => {
        $(mod $group {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                let (store, _place) = $make().await;
                $crate::contract::$group::$promise(store.clone()).await;
                store.close().await;
            })*
        })*
    };
}
