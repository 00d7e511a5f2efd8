import { Argument, type Command } from 'commander'
import { INCIDENT_KINDS, type IncidentKind, type MassKind } from '../../base/kinds.ts'
import { durationText } from '../../base/text.ts'
import { closeIncident } from '../../verify/incidents/change-incidents.ts'
import type { Incident } from '../../verify/incidents/incident.ts'
import { countHeld, listIncidents } from '../../verify/incidents/incident-queries.ts'
import { type Reversal, revertIncident } from '../../verify/incidents/revert-incident.ts'
import { withApp } from '../context.ts'
import { integerOption } from '../option-parsers.ts'
import { count, countOf, example, secondText, table, wrapText } from '../text/text-format.ts'

interface ListOptions {
  readonly limit: number
  readonly json?: boolean
}

export function addIncidentsCommands(program: Command): void {
  const incidents = program
    .command('incidents')
    .description('List, close and revert incidents: times in which changes of fares are held')
  incidents
    .command('list')
    .description('List incidents, newest first')
    .option('--limit <n>', 'list at most n incidents', integerOption(1, 10_000), 10)
    .option('--json', 'print one line of JSON per incident')
    .addHelpText('after', example('incidents list'))
    .action(printIncidents)
  incidents
    .command('close')
    .addArgument(new Argument('<kind>', 'the kind of the incident').choices(INCIDENT_KINDS))
    .description('Close an open incident by hand')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
mass_…: close it only if the selling site shows that the changes are true. Each
held fare is checked once more. If the answer is the same, the change is
recorded and the resellers are notified. If the answers were wrong, do nothing:
the incident ends when they are right again.

upstream_trouble: it ends when most answers are good again. Closing it lets
checks return to the whole budget sooner. It opens again if most answers stay
unknown.
${example('incidents close mass_loss')}`,
    )
    .action(close)
  incidents
    .command('revert')
    .description('Undo what was recorded falsely before an incident held it')
    .argument('<id>', 'the number of the incident', integerOption(1, Number.MAX_SAFE_INTEGER))
    .option('--dry-run', 'print what would be undone; change nothing')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Concerns the changes of the incident's kind since five minutes before it opened,
until it closed, and the ends of their fares that followed. No record is
deleted: each fare gets a record of the way back, which its watches receive,
and is checked at once. Watches that ended go on. Fares that have changed
otherwise or departed since are left as they are. Running it again changes
nothing.
${example('incidents revert 3 --dry-run')}`,
    )
    .action(revert)
}

async function printIncidents({ limit, json }: ListOptions): Promise<void> {
  await withApp({ role: 'incidents' }, async ({ database: { db }, clock }, { terminal }) => {
    const incidents = await listIncidents(db, { limit })
    const held = incidents.some(isOpen) ? await countHeld(db) : {}
    terminal.printRows(json, incidents, () =>
      incidentsText(incidents, { held, now: clock.now(), width: terminal.width }),
    )
  })
}

function isOpen({ closedAt }: Incident): boolean {
  return closedAt === null
}

type Held = Awaited<ReturnType<typeof countHeld>>

/** The table of incidents; while one is open also what to do, wrapped to the width. */
export function incidentsText(
  incidents: readonly Incident[],
  { held, now, width }: { readonly held: Held; readonly now: Date; readonly width: number },
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
  const advice = incidents.filter(isOpen).map(({ kind }) => adviceText(kind, held, width))
  return [all, ...advice].join('\n\n')
}

/** What the selling site shows if the held changes are true. */
const TRUE_IF: Readonly<Record<MassKind, string>> = {
  mass_loss: 'it sells none of them',
  mass_identity_change: 'it shows other flights or dates for them',
  mass_itinerary_change: 'it shows other times for them',
  mass_price_change: 'it sells them at other prices than "fares show" does',
  mass_expiry: 'they have departed',
}

const TROUBLE_ADVICE = 'What stops the checks: bin/farewatch status'

/** The command has its own line and is not wrapped. */
function adviceText(kind: IncidentKind, held: Held, width: number): string {
  if (kind === 'upstream_trouble') return TROUBLE_ADVICE
  const sentences = [
    `${kind}: ${count(held[kind] ?? 0)} fares are held: their last answers showed a change that is not recorded.`,
    'Compare some of them with the selling site. The answers may be wrong; then the incident ends by itself.',
    `If ${TRUE_IF[kind]}, the changes are true:`,
  ]
  const lines = sentences.flatMap((sentence) => wrapText(sentence, width))
  return [...lines, `    bin/farewatch incidents close ${kind}`].join('\n')
}

async function close(kind: IncidentKind, { json }: { json?: boolean }): Promise<void> {
  // Not quiet: the log reports the close, as it reported the opening.
  const needs = { role: 'incidents', quiet: false }
  await withApp(needs, async ({ database: { db }, log }, { terminal }) => {
    const { id, openedAt, askedAgain } = await closeIncident({ db, log }, kind)
    terminal.print(
      json,
      { id, kind, openedAt, askedAgain },
      () =>
        `${kind} is closed; ${count(askedAgain)} fares are checked once more before their change is recorded`,
    )
  })
}

async function revert(
  id: number,
  { dryRun = false, json }: { dryRun?: boolean; json?: boolean },
): Promise<void> {
  const needs = { role: 'incidents', quiet: false }
  await withApp(needs, async ({ database: { db }, log }, { terminal }) => {
    const reversal = await revertIncident({ db, log }, id, { dryRun })
    terminal.print(json, { ...reversal, dryRun }, () => reversalText(reversal, dryRun))
  })
}

function reversalText({ id, kind, fares, records, watches, left }: Reversal, dryRun: boolean) {
  const [restored, go] = dryRun ? ['would be restored', 'would go'] : ['restored', 'go']
  const rest = left === 0 ? '' : `; ${countOf(left, 'fare')} changed or departed since: left as is`
  return `incident ${id} (${kind}): ${countOf(fares, 'fare')} ${restored} with ${countOf(records, 'record')}; ${countOf(watches, 'ended watch', 'ended watches')} ${go} on${rest}`
}
