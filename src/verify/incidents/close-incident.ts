import { AppError } from '../../base/errors.ts'
import type { Logger } from '../../base/logger.ts'
import type { Db } from '../../db/database.ts'
import { inTransaction } from '../../db/transaction.ts'
import { acceptMassLoss, askHeldAgain } from './held-losses.ts'
import { reportIncidents } from './incident-events.ts'
import type { IncidentKind } from './incident-queries.ts'
import { closeIncident } from './settle-incident.ts'

/** There is nothing to close. */
export class NoIncidentError extends AppError {
  override readonly name = 'NoIncidentError'
  override readonly code = 'incident.none_open'
  override readonly retryable = false

  constructor(kind: IncidentKind) {
    super(`no ${kind} is open`)
  }
}

export interface EndedIncident {
  readonly id: number
  readonly openedAt: Date
  /** Fares whose loss was held; they are asked once more and, if they are still gone, believed to be. */
  readonly askedAgain: number
}

/**
 * Ends the incident of a kind that is open, for somebody who knows better. Throws NoIncidentError.
 *
 * It only lets go: what is recorded as lost still takes an answer of now that says so. Of a mass loss, closing alone
 * would not do, for the same losses would open it again: they are accepted, with those that are yet to be noticed,
 * until no more is lost at once than fares sell out, or a day has passed. From then on the next mass opens an incident.
 * Upstream trouble opens again where most of the next answers tell nothing.
 */
export async function endIncident(
  { db, log }: { readonly db: Db; readonly log: Logger },
  kind: IncidentKind,
): Promise<EndedIncident> {
  const { lastedMs, ...ended } = await inTransaction(db, async (tx) => {
    const [closed] = await closeIncident(tx, kind)
    if (closed === undefined) throw new NoIncidentError(kind)
    if (kind === 'mass_loss') await acceptMassLoss(tx, closed.id)
    return { ...closed, askedAgain: await askHeldAgain(tx) }
  })
  const { id, askedAgain } = ended
  reportIncidents({ log }, [{ to: 'closed', id, kind, lastedMs, askedAgain, closedBy: 'operator' }])
  return ended
}
