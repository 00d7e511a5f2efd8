import { isDeepStrictEqual } from 'node:util'
import type { Tx } from '../../db/database.ts'
import { BREAKERS, type EndpointGroup } from './breaker-state.ts'
import { type GroupStates, saveBreaker } from './breaker-store.ts'

/** Writes what a transition changed of a group's breakers, which the transaction holds locked. */
export async function saveChanged(
  tx: Tx,
  endpoint: EndpointGroup,
  { before, after }: { before: GroupStates; after: GroupStates },
): Promise<void> {
  for (const breaker of BREAKERS) {
    const state = after[breaker]
    if (!isDeepStrictEqual(before[breaker], state))
      await saveBreaker(tx, { endpoint, breaker, state })
  }
}
