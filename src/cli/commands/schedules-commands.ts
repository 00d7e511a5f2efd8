import type { Command } from 'commander'
import { durationText } from '../../base/text.ts'
import { listSchedules, makeScheduleDue, type SavedSchedule } from '../../schedules/schedules.ts'
import { createContext, withApp } from '../context.ts'
import { UsageError } from '../exit-codes.ts'
import { dueText } from '../text/status-text.ts'
import { table } from '../text/text-format.ts'

const NEEDS = { role: 'schedules', sandbox: false }

interface JsonOption {
  readonly json?: boolean
}

export function addSchedulesCommands(program: Command): void {
  const schedules = program.command('schedules').description('the recurring work')
  schedules
    .command('list')
    .description('when each schedule was due last, and is next; in UTC')
    .option('--json', 'one line of JSON a schedule')
    .addHelpText('after', '\nExample:\n  bin/farewatch schedules list')
    .action(printSchedules)
  schedules
    .command('run')
    .argument('<name>', 'as "schedules list" shows it')
    .description('make a schedule due now; a worker takes it within five seconds')
    .option('--json', 'as one JSON object')
    .addHelpText('after', '\nExample:\n  bin/farewatch schedules run sync-routes')
    .action(runSchedule)
}

async function printSchedules({ json }: JsonOption): Promise<void> {
  const context = createContext({ quiet: true })
  await withApp(context, NEEDS, async ({ database, clock }) => {
    const schedules = await listSchedules(database.db)
    if (json === true) {
      for (const schedule of schedules) context.terminal.out(JSON.stringify(schedule))
    } else {
      context.terminal.out(
        schedules.length === 0
          ? 'no schedules yet: the first worker saves them'
          : schedulesTable(schedules, clock.now()),
      )
    }
  })
}

function schedulesTable(schedules: readonly SavedSchedule[], now: Date): string {
  const rows = schedules.map(({ name, cron, nextDueAt, lastDueAt }) => [
    name,
    cron,
    lastDueAt === null ? 'never' : `${durationText(now.getTime() - lastDueAt.getTime())} ago`,
    nextDueAt.toISOString().slice(0, 16).replace('T', ' '),
    dueText(nextDueAt, now),
  ])
  return table(['schedule', 'pattern', 'due last', 'next, UTC', ''], rows)
}

async function runSchedule(name: string, { json }: JsonOption): Promise<void> {
  const context = createContext({ quiet: true })
  await withApp(context, NEEDS, async ({ database }) => {
    const dueAt = await makeScheduleDue(database.db, name)
    if (dueAt === undefined) {
      const known = (await listSchedules(database.db)).map((schedule) => schedule.name)
      const names = known.length === 0 ? 'the first worker saves them' : known.join(', ')
      throw new UsageError(`there is no schedule "${name}": ${names}`)
    }
    context.terminal.out(
      json === true
        ? JSON.stringify({ name, dueAt })
        : `${name} is due: a worker takes it within five seconds`,
    )
  })
}
