import { gunzipSync } from 'node:zlib'
import { type Db, type RawBuilder, sql } from '../platform/db/database.ts'

/** The upstream's answer that a change was decided on. */
export interface ChangeEvidence {
  /** The HTTP status of the answer; null if the change follows from no answer, such as the end of a fare. */
  readonly status: number | null
  readonly latencyMs: number | null
  /** The answer, without credentials; null if there was none, or if the retention has deleted it. */
  readonly answer: string | null
}

/** The evidence of a record in the feed of all fares. Undefined if there is no such record. */
export function findChangeEvidence(db: Db, seq: number): Promise<ChangeEvidence | undefined> {
  return readEvidence(
    db,
    sql`select c.id as change_id from availability_change c where c.seq = ${seq}`,
  )
}

/** The evidence of a record in a reseller's feed. Undefined if its feed has no such record. */
export function findWatchChangeEvidence(
  db: Db,
  resellerId: number,
  seq: number,
): Promise<ChangeEvidence | undefined> {
  return readEvidence(
    db,
    sql`select w.change_id from watch_change w where w.reseller_id = ${resellerId} and w.seq = ${seq}`,
  )
}

async function readEvidence(
  db: Db,
  record: RawBuilder<unknown>,
): Promise<ChangeEvidence | undefined> {
  const { rows } = await sql<Omit<ChangeEvidence, 'answer'> & { readonly body: Buffer | null }>`
    select (c.provenance ->> 'status')::int as status, (c.provenance ->> 'latencyMs')::float8 as "latencyMs", e.body
      from (${record}) r
      left join availability_change c on c.id = r.change_id
      left join evidence e on e.hash = c.evidence_hash
  `.execute(db)
  const [found] = rows
  if (found === undefined) return undefined
  const { body, ...call } = found
  return { ...call, answer: body === null ? null : gunzipSync(body).toString('utf8') }
}
