/** Charts as SVG files that follow the reader's light or dark scheme. */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const FOLDER = path.resolve(import.meta.dirname, '../plots')
export const [WIDTH, HEIGHT, MARGIN] = [640, 320, 56]

/** Classes, so that both schemes have their own colours: ink, grid, and one to six for series. */
const STYLE = `text { font: 12px sans-serif; fill: #333 } .grid { stroke: #ddd } .paper { fill: #fff }
${colours(['#0072b2', '#d55e00', '#009e73', '#888', '#cc79a7', '#a67c00'])}
@media (prefers-color-scheme: dark) {
text { fill: #ccc } .grid { stroke: #444 } .paper { fill: #16181d }
${colours(['#56b4e9', '#e8853d', '#35c69b', '#999', '#dd9cc0', '#f0c94a'])}
}`

function colours(series: readonly string[]): string {
  return series
    .map((colour, i) => `.line${i} { stroke: ${colour}; fill: none } .fill${i} { fill: ${colour} }`)
    .join('\n')
}

export function writeChart(name: string, title: string, parts: readonly string[]): void {
  mkdirSync(FOLDER, { recursive: true })
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
<rect width="${WIDTH}" height="${HEIGHT}" class="paper"/>
${parts.join('\n')}
</svg>
`
  writeFileSync(path.join(FOLDER, `${name}.svg`), svg)
}

export function text(x: number, y: number, value: string, anchor = 'middle'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${escaped(value)}</text>`
}

function escaped(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

/** A vertical axis with about four round steps, and its title above. */
export function verticalAxis(
  title: string,
  [least, most]: readonly [number, number],
): { y: (value: number) => number; parts: string[] } {
  const magnitude = 10 ** Math.floor(Math.log10((most - least) / 4))
  const step = magnitude * ([1, 2, 5].find((n) => n * magnitude * 4 >= most - least) ?? 10)
  const bottom = Math.floor(least / step) * step
  const steps = Math.ceil((most - bottom) / step)
  const y = (value: number) =>
    HEIGHT - MARGIN - ((value - bottom) / (steps * step)) * (HEIGHT - 2 * MARGIN)
  const lines = Array.from({ length: steps + 1 }, (_, i) => bottom + i * step).flatMap((value) => [
    `<line x1="${MARGIN}" x2="${WIDTH - MARGIN}" y1="${y(value).toFixed(1)}" y2="${y(value).toFixed(1)}" class="grid"/>`,
    text(MARGIN - 6, y(value) + 4, String(value), 'end'),
  ])
  return { y, parts: [...lines, text(MARGIN, 24, title, 'start')] }
}

export function polyline(points: readonly (readonly [number, number])[], series: number): string {
  const list = points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ')
  return `<polyline points="${list}" class="line${series}" stroke-width="2"/>`
}

export function rectangle(
  [x, y, width, height]: readonly [number, number, number, number],
  series: number,
): string {
  return `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${width.toFixed(1)}" height="${height.toFixed(1)}" class="fill${series}"/>`
}

/** The names of the series in a row above the chart. */
export function legend(names: readonly string[]): string[] {
  return names.map((name, i) => {
    const x = MARGIN + 120 * i
    return rectangle([x, 34, 10, 10], i) + text(x + 16, 43, name, 'start')
  })
}

export interface Lines {
  readonly vertical: string
  readonly horizontal: string
  /** One position for each value, in ascending order. */
  readonly positions: readonly number[]
  readonly labelOf?: (position: number) => string
  readonly series: readonly { readonly name: string; readonly values: readonly number[] }[]
  /** The lowest value of the vertical axis; the highest one is that of the data. */
  readonly least?: number
}

export function lineChart(lines: Lines): string[] {
  const { positions, series, least = 0, labelOf = String } = lines
  const most = Math.max(...series.flatMap(({ values }) => values))
  const { y, parts } = verticalAxis(lines.vertical, [least, most])
  const [first = 0, last = 1] = [positions[0], positions.at(-1)]
  const x = (at: number) => MARGIN + ((at - first) / (last - first)) * (WIDTH - 2 * MARGIN)
  const step = Math.ceil(positions.length / 8)
  return [
    ...parts,
    ...series.map(({ values }, i) =>
      polyline(
        values.map((value, at) => [x(positions[at] ?? 0), y(value)]),
        i,
      ),
    ),
    ...positions
      .filter((_, i) => i % step === 0)
      .map((at) => text(x(at), HEIGHT - MARGIN + 18, labelOf(at))),
    text(WIDTH / 2, HEIGHT - 12, lines.horizontal),
    ...(series.length > 1 ? legend(series.map(({ name }) => name)) : []),
  ]
}

/** Horizontal bars with their labels at the left. Bars of negative values begin at the same line and go left. */
export function barChart(
  title: string,
  bars: readonly { readonly label: string; readonly value: number }[],
): string[] {
  const [left, top] = [220, 40]
  const height = (HEIGHT - top - 20) / bars.length
  const least = Math.min(0, ...bars.map(({ value }) => value))
  const most = Math.max(0, ...bars.map(({ value }) => value))
  const x = (value: number) =>
    left + ((value - least) / (most - least || 1)) * (WIDTH - left - MARGIN)
  const rows = bars.flatMap(({ label, value }, i) => {
    const y = top + i * height
    const [from, to] = value < 0 ? [x(value), x(0)] : [x(0), x(value)]
    return [
      text(left - 8, y + height / 2 + 4, label, 'end'),
      rectangle([from, y + 2, Math.max(1, to - from), height - 4], value < 0 ? 1 : 0),
      text(to + 6, y + height / 2 + 4, String(value), 'start'),
    ]
  })
  return [text(16, 24, title, 'start'), ...rows]
}

/** Periods as bars on a line of time for each label. */
export function periodChart(
  title: string,
  periods: readonly { readonly label: string; readonly from: number; readonly to: number }[],
  [begin, end]: readonly [number, number],
): string[] {
  const labels = [...new Set(periods.map(({ label }) => label))]
  const [left, top] = [140, 48]
  const height = Math.min(32, (HEIGHT - top - MARGIN) / labels.length)
  const x = (at: number) => left + ((at - begin) / (end - begin)) * (WIDTH - left - 24)
  const bottom = top + height * labels.length
  const firsts = yearsBetween(begin, end)
  return [
    text(16, 24, title, 'start'),
    ...firsts.flatMap((at) => [
      `<line x1="${x(at).toFixed(1)}" x2="${x(at).toFixed(1)}" y1="${top}" y2="${bottom}" class="grid"/>`,
      text(x(at), bottom + 18, String(new Date(at).getUTCFullYear())),
    ]),
    ...labels.map((label, i) => text(left - 8, top + i * height + height / 2 + 4, label, 'end')),
    ...periods.map(({ label, from, to }) =>
      rectangle(
        [
          x(from),
          top + labels.indexOf(label) * height + 4,
          Math.max(2, x(to) - x(from)),
          height - 8,
        ],
        0,
      ),
    ),
  ]
}

function yearsBetween(begin: number, end: number): number[] {
  const first = new Date(begin).getUTCFullYear() + 1
  const last = new Date(end).getUTCFullYear()
  return Array.from({ length: last - first + 1 }, (_, i) => Date.UTC(first + i))
}
