import { Argument, type Command } from 'commander'
import { verifyRulesOf } from '../../app/settings-for.ts'
import { closeIncident } from '../../fares/incidents.ts'
import { HELD_BY, MASS_KINDS, type MassKind, massOf } from '../../platform/base/change-kinds.ts'
import { durationText } from '../../platform/base/text.ts'
import { recordAction } from '../../platform/db/audit.ts'
import {
  type HeldFares,
  type Incident,
  listIncidents,
  readHeld,
  requireIncident,
} from '../../views/incident-operations.ts'
import { withApp } from '../context.ts'
import { integerOption } from '../option-parsers.ts'
import { countOf, example, secondText, table, wrapText } from '../text/text-format.ts'

interface ListOptions {
  readonly limit: number
  readonly json?: boolean
}

export function addIncidentsCommands(program: Command): void {
  const incidents = program
    .command('incidents')
    .description('List, show and close incidents: times in which changes of fares are held')
  incidents
    .command('list')
    .description('List incidents, newest first')
    .option('--limit <n>', 'list at most n incidents', integerOption(1, 10_000), 10)
    .option('--json', 'print one line of JSON per incident')
    .addHelpText('after', example('incidents list'))
    .action(printIncidents)
  incidents
    .command('show')
    .addArgument(
      new Argument('<id>', 'the id of the incident').argParser(integerOption(1, 2 ** 50)),
    )
    .description('Show an incident')
    .option('--json', 'print one JSON object')
    .addHelpText('after', example('incidents show 7'))
    .action(show)
  incidents
    .command('close')
    .addArgument(new Argument('<kind>', 'the kind of the incident').choices(MASS_KINDS))
    .description('Close an open incident by hand')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Close it only if the selling site shows that the changes are true. What began
to wait before now is checked again, and recorded by its usual answers; ends of
mass_expiry come at once. What begins later is held if it makes a mass again.
If the answers are wrong, do nothing: what disappears is forgotten, and what is
still so MASS_HOLD_MINUTES after its first answer is recorded.
${example('incidents close mass_loss')}`,
    )
    .action(close)
}

async function printIncidents({ limit, json }: ListOptions): Promise<void> {
  await withApp(
    { role: 'incidents' },
    async ({ config, database: { db }, clock }, { terminal }) => {
      const incidents = await listIncidents(db, { limit })
      const held = await readHeld(db, verifyRulesOf(config))
      terminal.printRows(json, incidents, () =>
        incidentsText(incidents, { held, now: clock.now(), width: terminal.width }),
      )
    },
  )
}

async function show(id: number, { json }: { json?: boolean }): Promise<void> {
  await withApp(
    { role: 'incidents' },
    async ({ config, database: { db }, clock }, { terminal }) => {
      const incident = await requireIncident(db, id)
      const held = await readHeld(db, verifyRulesOf(config))
      terminal.print(json, incident, () =>
        incidentsText([incident], { held, now: clock.now(), width: terminal.width }),
      )
    },
  )
}

/** The table of incidents; while one is open or a change waits also what to do, wrapped to the width. */
export function incidentsText(
  incidents: readonly Incident[],
  {
    held,
    now,
    width,
  }: { readonly held: readonly HeldFares[]; readonly now: Date; readonly width: number },
): string {
  if (incidents.length === 0) return 'no incidents'
  const rows = incidents.map(({ id, kind, openedAt, closedAt }) => [
    String(id),
    kind,
    secondText(openedAt),
    closedAt === null ? 'OPEN' : secondText(closedAt),
    durationText((closedAt ?? now).getTime() - openedAt.getTime()),
  ])
  const all = table(['id', 'kind', 'opened', 'closed', 'lasted'], rows)
  const parts = incidents.map((incident) => wrapText(partText(incident), width).join('\n'))
  const open = incidents.filter(({ closedAt }) => closedAt === null).map(({ kind }) => kind)
  // A change that has begun to wait does so until the end of its hold, also after the mass.
  const waiting = held.flatMap(({ kind }) => MASS_KINDS.filter((mass) => HELD_BY[mass] === kind))
  const advice = [...new Set([...open, ...waiting])].map((kind) => adviceText(kind, held, width))
  return [all, ...parts.filter((text) => text !== ''), ...advice].join('\n\n')
}

/** What an incident is of, if not of its kind as a whole, and what was recorded before it was seen. */
function partText({ id, airlines, differences, recordedBefore }: Incident): string {
  const of = [...airlines.map((airline) => `airline ${airline}`), ...differences]
  const [first, last] = [recordedBefore.at(0), recordedBefore.at(-1)]
  const numbers = first === last ? first : `${first} to ${last}`
  const facts = [
    ...(of.length === 0 ? [] : [`of ${of.join(', ')}`]),
    ...(first === undefined
      ? []
      : [
          `recorded before it was seen: ${countOf(recordedBefore.length, 'record')}, seq ${numbers}`,
        ]),
  ]
  return facts.length === 0 ? '' : `${id}: ${facts.join('; ')}`
}

/** The command has its own line and is not wrapped. */
function adviceText(kind: MassKind, held: readonly HeldFares[], width: number): string {
  const waiting = held.find((one) => one.kind === HELD_BY[kind])
  const sentences = [
    waiting === undefined
      ? `${kind}: no fare waits now.`
      : `${kind}: the change of ${countOf(waiting.fares, 'fare')} waits since ${secondText(waiting.since)}, until ` +
        `${secondText(waiting.until)} at the latest. ` +
        `${countOf(waiting.watches, 'watch', 'watches')} will be notified of what is still so then.`,
    'Compare some of them with the selling site. If the answers are wrong, do nothing: what disappears is forgotten.',
    `If ${massOf(kind).trueIf}, the changes are true, and need not wait:`,
  ]
  const lines = sentences.flatMap((sentence) => wrapText(sentence, width))
  return [...lines, `    bin/farewatch incidents close ${kind}`].join('\n')
}

async function close(kind: MassKind, { json }: { json?: boolean }): Promise<void> {
  // Not quiet: the log reports the close, as it reported the opening.
  const needs = { role: 'incidents', quiet: false }
  await withApp(needs, async ({ database: { db }, log }, { terminal }) => {
    const { id, openedAt, askedAgain } = await closeIncident({ db, log }, kind)
    await recordAction(db, { by: 'cli', action: 'incident closed', target: kind })
    terminal.print(
      json,
      { id, kind, openedAt, askedAgain },
      () =>
        `${kind} is closed; ${countOf(askedAgain, 'fare')} ` +
        (kind === 'mass_expiry'
          ? 'end now'
          : 'are checked again, and their changes recorded by their usual answers'),
    )
  })
}
