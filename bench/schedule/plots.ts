import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { CONTENDERS, type Contender } from './policies.ts'
import { simulate } from './simulate.ts'
import { DAY, fares, type World } from './worlds.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../docs/plots')
const SHOWN: readonly Contender[] = ['round robin', '√ of the weight', '√ oracle', 'ours']
const COLOURS = ['#888', '#c80', '#393', '#06c']
const [WIDTH, HEIGHT, MARGIN] = [640, 320, 56]

/** Writes the plots of docs/plots: one seed of the world of fares. */
export function writePlots(size: number): void {
  mkdirSync(FOLDER, { recursive: true })
  const world = fares({ seed: 1, size, equalWeights: false })
  write(
    'delay-by-budget',
    'The mean weighted delay of four schedules by budget',
    plotBudgets(world),
  )
  write('delay-by-priority', 'The mean delay of four schedules by priority', plotPriorities(world))
  write('life-of-a-fare', 'The true changes of one fare and its checks', plotLife(world))
}

function write(name: string, title: string, parts: readonly string[]): void {
  const style = 'font-family="sans-serif" font-size="12" fill="#333"'
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" ${style}>
<title>${title}</title>
<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
${parts.join('\n')}
</svg>
`
  writeFileSync(path.join(FOLDER, `${name}.svg`), svg)
}

function text(x: number, y: number, value: string, anchor = 'middle'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${value}</text>`
}

/** A scale from 0 to `most` on the vertical axis. */
function axis(title: string, most: number): { y: (value: number) => number; parts: string[] } {
  const y = (value: number) => HEIGHT - MARGIN - (value / most) * (HEIGHT - 2 * MARGIN)
  const lines = [0, 0.25, 0.5, 0.75, 1].flatMap((part) => [
    `<line x1="${MARGIN}" x2="${WIDTH - MARGIN}" y1="${y(part * most)}" y2="${y(part * most)}" stroke="#ddd"/>`,
    text(MARGIN - 6, y(part * most) + 4, (part * most).toFixed(0), 'end'),
  ])
  return { y, parts: [...lines, text(MARGIN, 24, title, 'start')] }
}

function legend(x: number): string[] {
  return SHOWN.map((name, i) => {
    const mark = `<rect x="${x}" y="${MARGIN + 18 * i - 9}" width="10" height="10" fill="${COLOURS[i]}"/>`
    return mark + text(x + 16, MARGIN + 18 * i, name, 'start')
  })
}

function plotBudgets(world: World): string[] {
  const rounds = [0.5, 1, 2, 4, 8]
  const series = SHOWN.map((name) =>
    rounds.map((hours) => {
      const requestsPerSecond = world.size / (hours * 3_600)
      const run = simulate({ ...world, requestsPerSecond }, CONTENDERS[name](requestsPerSecond))
      return run.weighted / 60
    }),
  )
  const { y, parts } = axis('mean weighted delay, minutes', Math.max(...series.flat()))
  const x = (i: number) => MARGIN + 20 + (i * (WIDTH - 2 * MARGIN - 40)) / (rounds.length - 1)
  const lines = series.map((delays, i) => {
    const points = delays.map((delay, at) => `${x(at).toFixed(1)},${y(delay).toFixed(1)}`).join(' ')
    return `<polyline points="${points}" fill="none" stroke="${COLOURS[i]}" stroke-width="2"/>`
  })
  const labels = rounds.map((hours, i) => text(x(i), HEIGHT - MARGIN + 18, `${hours} h`))
  const below = text(WIDTH / 2, HEIGHT - 14, 'budget: time to check every fare once')
  return [...parts, ...lines, ...labels, below, ...legend(MARGIN + 12)]
}

function plotPriorities(world: World): string[] {
  const runs = SHOWN.map((name) => simulate(world, CONTENDERS[name](world.requestsPerSecond)))
  const priorities = [1, 2, 5]
  const most = Math.max(...runs.flatMap(({ byPriority }) => [...byPriority.values()])) / 60
  const { y, parts } = axis('mean delay, minutes', most)
  const bars = priorities.flatMap((priority, group) =>
    runs.map(({ byPriority }, i) => {
      const top = y((byPriority.get(priority) ?? 0) / 60)
      const x = MARGIN + 20 + group * 130 + i * 26
      return `<rect x="${x}" y="${top.toFixed(1)}" width="22" height="${(y(0) - top).toFixed(1)}" fill="${COLOURS[i]}"/>`
    }),
  )
  const labels = priorities.map((priority, group) =>
    text(MARGIN + 72 + group * 130, HEIGHT - MARGIN + 18, `priority ${priority}`),
  )
  return [...parts, ...bars, ...labels, ...legend(WIDTH - MARGIN - 130)]
}

/** The fare with the most changes: its changes above, and its checks below. */
function plotLife(world: World): string[] {
  const lived = world.fares.filter(
    ({ departsAt }) => (departsAt ?? 0) < world.endsAt && (departsAt ?? 0) > 20 * DAY,
  )
  const fare = lived.reduce((most, one) => (one.times.length > most.times.length ? one : most))
  const checks: { at: number; changed: boolean }[] = []
  simulate(world, CONTENDERS.ours(world.requestsPerSecond), ({ id }, at, changed) => {
    if (id === fare.id) checks.push({ at, changed })
  })
  const ends = fare.departsAt ?? world.endsAt
  const x = (at: number) =>
    MARGIN + ((at - fare.addedAt) / (ends - fare.addedAt)) * (WIDTH - 2 * MARGIN)
  const mark = (at: number, [top, bottom]: readonly [number, number], colour: string) =>
    `<line x1="${x(at).toFixed(1)}" x2="${x(at).toFixed(1)}" y1="${top}" y2="${bottom}" stroke="${colour}"/>`
  const days = Math.ceil((ends - fare.addedAt) / DAY)
  const ticks = Array.from({ length: Math.floor(days / 5) + 1 }, (_, i) =>
    text(x(ends - i * 5 * DAY), HEIGHT - MARGIN + 24, `${i * 5}`),
  )
  return [
    text(MARGIN, 24, 'one fare under our schedule', 'start'),
    text(MARGIN, 70, 'true changes', 'start'),
    ...[...fare.times].map((at) => mark(at, [80, 130], '#c33')),
    text(MARGIN, 170, 'checks (dark: found a change)', 'start'),
    ...checks.map(({ at, changed }) => mark(at, [180, 230], changed ? '#036' : '#9cf')),
    ...ticks,
    text(WIDTH / 2, HEIGHT - 10, 'days to departure'),
  ]
}
