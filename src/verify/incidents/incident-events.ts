import type { Logger } from '../../base/logger.ts'
import type { CheckCounts, LossCounts } from './incident.ts'
import type { IncidentKind } from './incident-queries.ts'

/** What an incident was judged by when it moved. */
export type IncidentCounts = (LossCounts & { readonly waiting: number }) | CheckCounts

/** An incident that opened or closed, in a transaction that may yet be rolled back. */
export type IncidentMove =
  | {
      readonly to: 'open'
      readonly id: number
      readonly kind: IncidentKind
      readonly counts: IncidentCounts
    }
  | ({ readonly to: 'closed' } & ClosedIncident)

export interface ClosedIncident {
  readonly id: number
  readonly kind: IncidentKind
  /** By the answers, which are right again; or by a person, who knows that the losses are true. */
  readonly closedBy: 'itself' | 'operator'
  readonly lastedMs: number
  /** Fares whose loss was held, and that are asked once more. */
  readonly askedAgain: number
  /** Missing where nothing was counted. */
  readonly counts?: IncidentCounts
}

/** Tells each incident that opened or closed to the log. To be called once what moved it is committed. */
export function reportIncidents(
  { log }: { readonly log: Logger },
  moves: readonly IncidentMove[],
): void {
  for (const { to, counts, ...move } of moves) {
    if (to === 'open') log.warn({ ...move, ...counts }, 'incident opened')
    else log.info({ ...move, ...counts }, 'incident closed')
  }
}
