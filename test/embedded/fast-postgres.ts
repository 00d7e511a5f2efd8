/** Test data need not survive a power cut. */
export const FAST = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' }
