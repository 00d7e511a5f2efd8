import type { Logger } from '../../base/logger.ts'
import type { Db, Tx } from '../../db/database.ts'
import { inTransaction } from '../../db/transaction.ts'
import { isOver, isTroubleOver } from './incident.ts'
import { hasTurns, readCheckCounts, readLossCounts, readOpenKinds } from './incident-counts.ts'
import { type IncidentMove, reportIncidents } from './incident-events.ts'
import type { IncidentKind } from './incident-queries.ts'
import { settleIncident } from './settle-incident.ts'

/**
 * Closes incidents that are over though no answer says so: the fares that were lost are watched no more, or nothing is
 * watched at all. With answers each recording judges them (guard-losses.ts); without, one would stay open for ever.
 * Returns how many. Safe to run twice: it closes what is open.
 */
export async function settleIncidents({
  db,
  log,
}: {
  readonly db: Db
  readonly log: Logger
}): Promise<number> {
  const moves = await inTransaction(db, async (tx) => {
    const open = await readOpenKinds(tx)
    const settled: IncidentMove[] = []
    for (const kind of open) settled.push(...(await settleOpen(tx, kind)))
    return settled
  })
  reportIncidents({ log }, moves)
  return moves.length
}

async function settleOpen(tx: Tx, kind: IncidentKind): Promise<IncidentMove[]> {
  const { over, counts } = await judge(tx, kind)
  const is = !over && (await hasTurns(tx))
  return settleIncident(tx, { kind, open: true, is, counts })
}

async function judge(tx: Tx, kind: IncidentKind) {
  if (kind === 'mass_loss') {
    const counts = await readLossCounts(tx, [])
    return { over: isOver(counts), counts }
  }
  const counts = await readCheckCounts(tx, { open: true })
  return { over: isTroubleOver(counts), counts }
}
