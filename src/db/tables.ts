/** The private tables, for kysely's builder. Set-based SQL names its columns itself. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by the first migration
export interface Tables {}
