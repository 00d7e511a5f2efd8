import type { Logger } from '../../base/logger.ts'
import { BREAKERS, type EndpointGroup } from './breaker-state.ts'
import type { GroupStates } from './breaker-store.ts'

/** Tells an operator of each breaker that opened or closed; called by the process whose transaction made it so. */
export function logTransitions(
  log: Logger,
  endpoint: EndpointGroup,
  { before, after }: { before: GroupStates; after: GroupStates },
): void {
  for (const breaker of BREAKERS) {
    const was = before[breaker].open
    const is = after[breaker].open
    if (was === null && is !== null) {
      const probeAt = new Date(is.probeAtMs).toISOString()
      log.warn({ endpoint, breaker, probeAt }, 'upstream breaker opened')
    }
    if (was !== null && is === null) {
      const openSince = new Date(was.sinceMs).toISOString()
      log.info({ endpoint, breaker, openSince }, 'upstream breaker closed')
    }
  }
}
