import type { ResellerId } from '../base/reseller-id.ts'
import type { Db } from './database.ts'

/**
 * The database as one reseller may use it. A query of a reseller's data takes this whole, and not a `Db` beside an id:
 * whoever has the one has the other, and cannot forget it.
 */
export interface Tenant {
  readonly db: Db
  readonly resellerId: ResellerId
}
