import { Argument, type Command } from 'commander'
import { INCIDENT_KINDS, type IncidentKind } from '../../base/kinds.ts'
import { durationText } from '../../base/text.ts'
import { closeIncident } from '../../verify/incidents/change-incidents.ts'
import type { Incident } from '../../verify/incidents/incident.ts'
import { countHeldLosses, listIncidents } from '../../verify/incidents/incident-queries.ts'
import { withApp } from '../context.ts'
import { integerOption } from '../option-parsers.ts'
import { count, example, secondText, table } from '../text/text-format.ts'

interface ListOptions {
  readonly limit: number
  readonly json?: boolean
}

export function addIncidentsCommands(program: Command): void {
  const incidents = program
    .command('incidents')
    .description('List and close incidents: times in which losses of fares are held')
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
mass_loss: close it only if the selling site shows that the flights are gone.
Each held fare is checked once more. If it is still unavailable, the loss is
recorded and the resellers are notified. If the answers were wrong, do nothing:
the incident ends when they are right again.

upstream_trouble: it ends when most answers are good again. Closing it lets
checks return to the whole budget sooner. It opens again if most answers stay
unknown.
${example('incidents close mass_loss')}`,
    )
    .action(close)
}

async function printIncidents({ limit, json }: ListOptions): Promise<void> {
  await withApp({ role: 'incidents' }, async ({ database: { db }, clock }, { terminal }) => {
    const incidents = await listIncidents(db, { limit })
    const held = incidents.some(isOpen) ? await countHeldLosses(db) : 0
    terminal.printRows(json, incidents, () => incidentsText(incidents, held, clock.now()))
  })
}

function isOpen({ closedAt }: Incident): boolean {
  return closedAt === null
}

function incidentsText(incidents: readonly Incident[], held: number, now: Date): string {
  if (incidents.length === 0) return 'no incidents'
  const rows = incidents.map(({ id, kind, openedAt, closedAt }) => [
    String(id),
    kind,
    secondText(openedAt),
    closedAt === null ? 'OPEN' : secondText(closedAt),
    durationText((closedAt ?? now).getTime() - openedAt.getTime()),
  ])
  const all = table(['id', 'kind', 'opened', 'closed', 'lasted'], rows)
  return incidents.some(isOpen) ? `${all}\n\n${adviceText(held)}` : all
}

function adviceText(held: number): string {
  return [
    `${count(held)} fares are held: they are shown as bookable though their last answer said otherwise.`,
    'Does the selling site sell one of them? Then the answers are wrong, and the incident ends by itself.',
    'Does it sell none? Then the losses are true: bin/farewatch incidents close mass_loss',
  ].join('\n')
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
        `${kind} is closed; ${count(askedAgain)} fares are checked once more before their loss is recorded`,
    )
  })
}
