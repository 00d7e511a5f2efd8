import { Argument, type Command } from 'commander'
import { durationText } from '../../base/text.ts'
import { closeIncident } from '../../verify/incidents/change-incidents.ts'
import { INCIDENT_KINDS, type Incident } from '../../verify/incidents/incident.ts'
import { countHeldLosses, listIncidents } from '../../verify/incidents/incident-queries.ts'
import { createContext, withApp } from '../context.ts'
import { integerOption } from '../option-parsers.ts'
import { count, table } from '../text/text-format.ts'

const NEEDS = { role: 'incidents', sandbox: false }

interface ListOptions {
  readonly limit: number
  readonly json?: boolean
}

export function addIncidentsCommands(program: Command): void {
  const incidents = program
    .command('incidents')
    .description('times in which losses of fares are held, for they cannot be true')
  incidents
    .command('list')
    .description('what is open, and what was, the newest first')
    .option('--limit <n>', 'how many', integerOption(1, 10_000), 10)
    .option('--json', 'one line of JSON an incident')
    .addHelpText('after', '\nExample:\n  bin/farewatch incidents list')
    .action(printIncidents)
  incidents
    .command('close')
    .addArgument(new Argument('<kind>', 'which one').choices(INCIDENT_KINDS))
    .description('end one by hand: what was held is asked once more, and then believed')
    .option('--json', 'as one JSON object')
    .addHelpText(
      'after',
      `
Close a mass loss only where you know that these fares are gone, by the selling site: resellers are then told. One that
is not true ends by itself when the answers are right again, and upstream_trouble when most answers tell something
again: closing that lets checks climb back to the whole budget, and it opens anew where they still tell nothing.

Example:
  bin/farewatch incidents close mass_loss`,
    )
    .action(close)
}

async function printIncidents({ limit, json }: ListOptions): Promise<void> {
  const context = createContext({ quiet: true })
  const { terminal } = context
  await withApp(context, NEEDS, async ({ database: { db }, clock }) => {
    const incidents = await listIncidents(db, { limit })
    if (json === true) for (const incident of incidents) terminal.out(JSON.stringify(incident))
    else {
      const open = incidents.some(({ closedAt }) => closedAt === null)
      const held = open ? await countHeldLosses(db) : 0
      terminal.out(incidentsText(incidents, { held, now: clock.now() }))
    }
  })
}

export function incidentsText(
  incidents: readonly Incident[],
  { held, now }: { held: number; now: Date },
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
  return incidents.some(({ closedAt }) => closedAt === null) ? `${all}\n\n${adviceText(held)}` : all
}

function adviceText(held: number): string {
  return [
    `${count(held)} fares are held: still shown as bookable though their last answer said otherwise.`,
    'Is one of them for sale on the selling site? Then the answers are wrong, and this ends by itself.',
    'Is none? Then the losses are true: bin/farewatch incidents close mass_loss',
  ].join('\n')
}

function secondText(instant: Date): string {
  return instant.toISOString().slice(0, 19).replace('T', ' ')
}

async function close(kind: Incident['kind'], { json }: { json?: boolean }): Promise<void> {
  // Not quiet: that a person closed it is to stand in the log, as its opening does.
  const context = createContext()
  await withApp(context, NEEDS, async ({ database: { db }, log }) => {
    const { id, openedAt, askedAgain } = await closeIncident({ db, log }, kind)
    context.terminal.out(
      json === true
        ? JSON.stringify({ id, kind, openedAt, askedAgain })
        : `${kind} is closed: ${count(askedAgain)} fares are asked once more, and believed gone if they still are`,
    )
  })
}
