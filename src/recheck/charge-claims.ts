import type { Tx } from '../db/database.ts'
import { type DueFare, findDueQueues, lockDue, savePass } from './claim-fares.ts'
import { readPayers, savePayers } from './payers.ts'
import { type Account, chargeCheck, chargeInOrder, orderChecks } from './policy/stride.ts'

export interface NextChecksArgs {
  /** Fares that are claimed in lanes already. */
  readonly inLanes: readonly DueFare[]
  readonly limit: number
  readonly presentPass: number
}

export interface NextChecks {
  /** The due fares in the order of their checks, locked until the transaction ends. */
  readonly due: readonly DueFare[]
  /** All resellers that pay for these fares or for those in the lanes. */
  readonly accounts: Map<number, Account>
}

/** The fares that are checked next. The caller holds the lock of the clock. */
export async function nextChecks(
  tx: Tx,
  { inLanes, ...args }: NextChecksArgs,
): Promise<NextChecks> {
  const without = inLanes.map(({ fareId }) => fareId)
  let queues = await findDueQueues(tx, { ...args, without })
  const accounts = new Map<number, Account>(
    queues.map(({ payer, share, pass }) => [payer, { share, pass }]),
  )
  await addAccounts(tx, accounts, inLanes)
  for (;;) {
    const { fares, short } = orderChecks(queues, accounts, args)
    if (short.length === 0) return { due: await lockDue(tx, fares), accounts }
    const longer = await findDueQueues(tx, { ...args, without, payers: short })
    const read = new Map(longer.map((queue) => [queue.payer, { ...queue, hasMore: false }]))
    queues = queues.map((queue) => read.get(queue.payer) ?? queue)
  }
}

/** Adds the accounts of the resellers that pay for checks in lanes. */
async function addAccounts(
  tx: Tx,
  accounts: Map<number, Account>,
  fares: readonly DueFare[],
): Promise<void> {
  const missing = fares.map(({ payer }) => payer).filter((id) => !accounts.has(id))
  if (missing.length === 0) return
  for (const [id, { share, pass }] of await readPayers(tx, missing))
    accounts.set(id, { share, pass })
}

export interface ChargeArgs {
  readonly inLanes: readonly DueFare[]
  /** Fares of the schedule that got a slot, in the order of their checks. */
  readonly scheduled: readonly DueFare[]
  readonly accounts: ReadonlyMap<number, Account>
  readonly presentPass: number
}

/** Charges the claimed checks to their resellers, and moves the clocks of the queues forward. */
export async function chargeClaims(
  tx: Tx,
  { inLanes, scheduled, accounts, presentPass }: ChargeArgs,
): Promise<void> {
  if (inLanes.length + scheduled.length === 0) return
  const before = new Map([...accounts].map(([id, { pass }]) => [id, pass]))
  for (const fare of inLanes) chargeCheck(accounts, fare)
  const pass = chargeInOrder(accounts, scheduled, presentPass)
  const claimed = new Map(scheduled.map(({ payer, vdue }) => [payer, vdue]))
  const changed = [...accounts].filter((account) => account[1].pass !== before.get(account[0]))
  await savePayers(
    tx,
    changed.map(([id, account]) => {
      return { id, pass: account.pass, v: claimed.get(id) ?? Number.NEGATIVE_INFINITY }
    }),
  )
  await savePass(tx, pass)
}
