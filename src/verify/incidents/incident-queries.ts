import { type Db, sql } from '../../db/database.ts'

export type IncidentKind = 'mass_loss' | 'upstream_trouble'

/** A time in which losses are held: more is lost at once than fares sell out, or most answers tell nothing. */
export interface Incident {
  readonly id: number
  readonly kind: IncidentKind
  readonly openedAt: Date
  /** Null while it is open. */
  readonly closedAt: Date | null
}

export interface IncidentPage {
  /** Only those that are open, or over; both where missing. */
  readonly open?: boolean | undefined
  /** The last incident of the page before. */
  readonly after?: number | undefined
  readonly limit: number
}

/** Incidents, the newest first. */
export async function listIncidents(
  db: Db,
  { open, after, limit }: IncidentPage,
): Promise<Incident[]> {
  const { rows } = await sql<Incident>`
    select id, kind, opened_at as "openedAt", closed_at as "closedAt"
      from incident
     where ${open === undefined ? sql`true` : sql`(closed_at is null) = ${open}`}
       and ${after === undefined ? sql`true` : sql`id < ${after}`}
     order by id desc
     limit ${limit}
  `.execute(db)
  return rows
}
