import type { Command } from 'commander'
import {
  listSchedules,
  makeScheduleDue,
  type SavedSchedule,
} from '../../platform/ticks/schedules.ts'
import { withApp } from '../context.ts'
import { UsageError } from '../exit-codes.ts'
import { dueText } from '../text/status-text.ts'
import { agoText, example, secondText, table } from '../text/text-format.ts'

const NEEDS = { role: 'schedules' }

interface JsonOption {
  readonly json?: boolean
}

export function addSchedulesCommands(program: Command): void {
  const schedules = program
    .command('schedules')
    .description('List the schedules of the syncs, and run one now')
  schedules
    .command('list')
    .description('List when each schedule was due last and is due next, in UTC')
    .option('--json', 'print one line of JSON per schedule')
    .addHelpText('after', example('schedules list'))
    .action(printSchedules)
  schedules
    .command('run')
    .argument('<name>', 'as "schedules list" prints it')
    .description('Make a schedule due now; a worker starts it within five seconds')
    .option('--json', 'print one JSON object')
    .addHelpText('after', example('schedules run sync-routes'))
    .action(runSchedule)
}

async function printSchedules({ json }: JsonOption): Promise<void> {
  await withApp(NEEDS, async ({ database, clock }, { terminal }) => {
    const schedules = await listSchedules(database.db)
    terminal.printRows(json, schedules, () =>
      schedules.length === 0
        ? 'no schedules yet: the first worker saves them'
        : schedulesTable(schedules, clock.now()),
    )
  })
}

function schedulesTable(schedules: readonly SavedSchedule[], now: Date): string {
  const rows = schedules.map(({ name, cron, nextDueAt, lastDueAt }) => [
    name,
    cron,
    lastDueAt === null ? 'never' : agoText(lastDueAt, now),
    secondText(nextDueAt).slice(0, 16),
    dueText(nextDueAt, now),
  ])
  return table(['schedule', 'pattern', 'due last', 'next, UTC', ''], rows)
}

async function runSchedule(name: string, { json }: JsonOption): Promise<void> {
  await withApp(NEEDS, async ({ database: { db } }, { terminal }) => {
    const dueAt = await makeScheduleDue(db, name)
    if (dueAt === undefined) {
      const known = (await listSchedules(db)).map((schedule) => schedule.name)
      const names = known.length === 0 ? 'the first worker saves them' : known.join(', ')
      throw new UsageError(`there is no schedule "${name}": ${names}`)
    }
    terminal.print(
      json,
      { name, dueAt },
      () => `${name} is due: a worker starts it within five seconds`,
    )
  })
}
