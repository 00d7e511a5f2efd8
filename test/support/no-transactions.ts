import type { Transactions } from '../../src/platform/http/operation.ts'

/** The transactions of operations that write in no database. */
export function noTransactions<D>(): Transactions<D> {
  return { run: (deps, work) => work(deps), once: (deps, _request, make) => make(deps) }
}
