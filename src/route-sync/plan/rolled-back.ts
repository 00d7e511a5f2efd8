import type { Db, Tx } from '../../db/database.ts'

/**
 * Runs `work` in a transaction that never commits: it may stage and compare as a sync does, and leaves nothing. What
 * it reads is of one moment; nobody waits for it.
 */
export async function rolledBack<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  const tx = await openRolledBack(db)
  try {
    return await work(tx)
  } finally {
    await tx.end()
  }
}

/** A transaction that its user ends, without effect. */
export type RolledBackTx = Tx & { end(): Promise<void> }

export async function openRolledBack(db: Db): Promise<RolledBackTx> {
  const tx = await db.startTransaction().setIsolationLevel('repeatable read').execute()
  return Object.assign(tx, {
    // On a connection that broke there is nothing to roll back, and the error of the work is the one to tell.
    end: async () => {
      await tx
        .rollback()
        .execute()
        .catch(() => undefined)
    },
  })
}
