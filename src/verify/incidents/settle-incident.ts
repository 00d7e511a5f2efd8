import { sql, type Tx } from '../../db/database.ts'
import { askHeldAgain } from './held-losses.ts'
import type { IncidentCounts, IncidentMove } from './incident-events.ts'
import type { IncidentKind } from './incident-queries.ts'

export interface JudgedIncident {
  readonly kind: IncidentKind
  readonly open: boolean
  /** Whether there is one, by these counts. */
  readonly is: boolean
  readonly counts: IncidentCounts
}

/** Opens an incident that is there, or closes one that is over; returns what moved, which is nothing mostly. */
export async function settleIncident(
  tx: Tx,
  { kind, open, is, counts }: JudgedIncident,
): Promise<IncidentMove[]> {
  if (is === open) return []
  if (is) return (await openIncident(tx, kind)).map((id) => ({ to: 'open', id, kind, counts }))
  const [closed] = await closeIncident(tx, kind)
  if (closed === undefined) return []
  const { id, lastedMs } = closed
  const askedAgain = await askHeldAgain(tx)
  return [{ to: 'closed', id, kind, lastedMs, closedBy: 'itself', askedAgain, counts }]
}

async function openIncident(tx: Tx, kind: IncidentKind): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    insert into incident (kind) values (${kind})
        on conflict (kind) where closed_at is null do nothing
    returning id
  `.execute(tx)
  return rows.map(({ id }) => id)
}

export interface IncidentEnd {
  readonly id: number
  readonly openedAt: Date
  readonly lastedMs: number
}

/** Closes the incident of a kind that is open; at most one is. */
export async function closeIncident(tx: Tx, kind: IncidentKind): Promise<IncidentEnd[]> {
  const { rows } = await sql<IncidentEnd>`
    update incident
       set closed_at = clock_timestamp()
     where kind = ${kind} and closed_at is null
    returning id, opened_at as "openedAt",
              round(extract(epoch from closed_at - opened_at) * 1000)::float8 as "lastedMs"
  `.execute(tx)
  return rows
}
