-- older code: may run
-- The comment says what makes a price doubtful now.
comment on column farewatch.fares_current.price_reason is 'Why the last answers did not show the price of a bookable fare: unreadable, unconfirmed (another currency, or a change by more than a tenth, seen once), mixed_currencies (of the legs), held (prices of many fares change at once, and wait); stale where there were none. Null where they did.';
