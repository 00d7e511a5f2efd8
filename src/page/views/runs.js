/**
 * @import { HeldRun, HeldRunDifference, Place, PlanReport, Run, RunDetails } from '../api-types.ts'
 * @import { Network } from '../map/network.js'
 * @import { Level } from '../parts.js'
 * @import { Described } from '../recent-changes.js'
 */
import { useMemo, useState } from 'preact/hooks'
import { linkTo, linkWithin, useAnswer, useQuery, useResource } from '../hooks.js'
import { nameOf, pairsOf, readNetwork, readPlaces } from '../map/network.js'
import { NetworkMap } from '../map/network-map.js'
import {
  Action,
  Badge,
  Empty,
  Failure,
  Figure,
  html,
  Legend,
  loaded,
  Meter,
  Segments,
  Table,
} from '../parts.js'
import { withSubjects } from '../recent-changes.js'
import { callApi, caller, serverNow } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Clock, shortText } from '../times.js'
import { vocabulary } from '../vocabulary.js'

const t = texts.runs

/** @type {Record<string, Level>} */
const LEVELS = {
  applied: 'good',
  unchanged: 'idle',
  held: 'warn',
  rejected: 'bad',
  failed: 'bad',
  approved: 'good',
  dropped: 'idle',
}

/** Runs, reviews and what they wait for change while they are shown: other people may decide too. */
const EVERY_MS = 30_000

/** The syncs of the route lists, and the review of a held one. @param {{ path: string[] }} props */
export function RunsView({ path: [runId] }) {
  const [query, setQuery] = useQuery()
  const filters = new URLSearchParams({ ...query, limit: '100' })
  const runs = useAnswer(`/sync-runs?${filters}`, EVERY_MS)
  const { lists, effects } = texts.runs
  return html`<div class="toolbar">
    <${Segments} label=${t.columns.list} names=${lists} chosen=${query.list ?? ''} onChoose=${(/** @type {string} */ list) => setQuery({ list })} />
    <${Segments} label="Effect" names=${effects} chosen=${query.statuses ?? ''} onChoose=${(/** @type {string} */ statuses) => setQuery({ statuses })} />
  </div>
  ${loaded(runs, ({ items }) =>
    items.length === 0
      ? html`<${Empty} texts=${t.empty} />`
      : html`<div class="split wide">
          <${RunTable} runs=${items} selected=${Number(runId)} />
          ${runId !== undefined && html`<${RunPane} key=${runId} runId=${runId} />`}
        </div>`,
  )}`
}

/** @param {{ runs: readonly Run[], selected: number }} props */
function RunTable({ runs, selected }) {
  return html`<div class="scroll" tabindex="0"><${Table} kind="stacked runs" heads=${Object.values(t.columns)}>
    ${runs.map(
      (run) => html`<tr key=${run.runId} class=${run.runId === selected ? 'selected' : ''}>
      <td><a href=${linkWithin('runs', run.runId)}>${run.runId}</a></td>
      <td class="main">${run.list}</td>
      <td><${Badge} level=${LEVELS[run.status] ?? 'idle'}>${run.status}${run.baseline ? ' (first)' : ''}<//></td>
      <td><${Clock} at=${run.finishedAt} /></td>
      <td class="n" data-label=${t.columns.routes}>${run.live?.toLocaleString() ?? ''}</td>
      ${/** @type {const} */ (['added', 'removed', 'gained', 'lost']).map((name) => html`<td class="n" data-label=${t.columns[name]}>${signed(name, run[name])}</td>`)}
      <td class="n" data-label=${t.columns.took}>${shortText((Date.parse(run.finishedAt) - Date.parse(run.startedAt)) / 1000)}</td>
    </tr>`,
    )}
  <//></div>`
}

/** @param {string} name @param {number | null} n */
function signed(name, n) {
  if (!n) return ''
  return `${name === 'added' || name === 'gained' ? '+' : '−'}${n.toLocaleString()}`
}

/** @param {{ runId: string }} props */
function RunPane({ runId }) {
  const run = useAnswer(`/sync-runs/${encodeURIComponent(runId)}`, EVERY_MS)
  return html`<aside class="drawer" aria-label=${t.run(runId)}>
    <div class="row"><h2>${t.run(runId)}</h2><a class="close" href=${linkWithin('runs')}>${texts.close}</a></div>
    ${loaded(
      run,
      (data) => html`
      <p><${Badge} level=${LEVELS[data.status] ?? 'idle'}>${data.list}: ${data.status}<//></p>
      ${data.reason && html`<p>${data.reason.text}</p>`}
      <dl>
        <dt>Arrived</dt><dd>${data.arrivedAt ? html`<${Clock} at=${data.arrivedAt} />` : texts.none}</dd>
        <dt>Routes in the list</dt><dd>${data.fetched?.toLocaleString() ?? texts.none}</dd>
        <dt>Size</dt><dd>${data.bytes === null ? texts.none : t.kilobytes(data.bytes)}</dd>
        ${data.resolution && html`<dt>Review</dt><dd>${data.resolution.replaceAll('_', ' ')}</dd>`}
      </dl>
      ${data.status === 'held' && caller.isOperator && html`<${Review} runId=${runId} />`}
      ${ACCEPTED.includes(data.status) && html`<${RunRoutes} key=${data.finishedAt} run=${data} />`}
    `,
    )}
  </aside>`
}

const ACCEPTED = ['applied', 'unchanged', 'approved']
/** The records of a run are written at its end, made-up ones a little before or after it. */
const AROUND_MS = 60_000

/** The routes that a run changed, on a map and by what happened to them. @param {{ run: RunDetails }} props */
function RunRoutes({ run: { runId, baseline, validAt, finishedAt, changes } }) {
  const at = (/** @type {string} */ instant, /** @type {number} */ ms) =>
    new Date(Date.parse(instant) + ms).toISOString()
  /** @type {`/route-changes?${string}`} */
  const path = `/route-changes?limit=1000&from=${at(validAt ?? finishedAt, -AROUND_MS)}&to=${at(finishedAt, AROUND_MS)}`
  const found = useResource(
    async (signal) => {
      const [{ items }, places] = await Promise.all([callApi(path, { signal }), readPlaces()])
      return withSubjects(
        items.filter((one) => one.runId === runId),
        places,
      )
    },
    [path],
  )
  const counts = Object.entries(changes)
  if (counts.length === 0) {
    return html`<p class="muted">${baseline ? 'The history begins with this list.' : 'The run changed no route.'}</p>`
  }
  return loaded(
    found,
    (items) => html`
    <${RunMap} items=${items} />
    ${counts.map(([kind, count]) => {
      const some = items.filter((one) => one.kind === kind)
      return html`<h3>${textOf(vocabulary.kinds, kind)}: ${count.toLocaleString()}</h3>
        <ul class="plain-list">${some.map(({ subject: { title, detail } }) => html`<li><strong>${title}</strong> <span class="muted">${detail}</span></li>`)}</ul>
        ${count > some.length && html`<p class="muted">${t.more(count - some.length)}</p>`}`
    })}`,
  )
}

/** @param {{ items: readonly Described[] }} props */
function RunMap({ items }) {
  const [added, removed] = useMemo(
    () =>
      [/added|gained/, /removed|lost/].map((kinds) =>
        items
          .filter(({ kind }) => kinds.test(kind))
          .map(({ departureId, destinationId }) => [departureId, destinationId]),
      ),
    [items],
  )
  return html`<${NetworkMap} kind="middle" added=${added} removed=${removed} label=${t.mapOf(added?.length ?? 0, removed?.length ?? 0)} />`
}

/** What is suspicious about a held list, what approving it would do, and the decision. @param {{ runId: string }} props */
function Review({ runId }) {
  /** @type {`/held-runs/${string}`} */
  const path = `/held-runs/${encodeURIComponent(runId)}`
  const review = useAnswer(path, EVERY_MS)
  return loaded(
    review,
    ({ run, plan, lastAcceptedAt, isLikelyReal }) => html`
    ${run.lists > 1 && html`<p>${t.agree(run.lists)} <${Clock} at=${run.since} />.</p>`}
    ${run.rejectedAt && html`<p>An operator rejected a list that agrees with it: <${Clock} at=${run.rejectedAt} />.</p>`}
    ${isLikelyReal && html`<p><${Badge} level="warn">Likely real: much changes since the last accepted list, of<//> <${Clock} at=${lastAcceptedAt} /></p>`}
    <${OtherHeld} run=${run} />
    <h3>If it were approved now</h3>
    ${plan.verdict === null && html`<p>The guard would not hold this list now.</p>`}
    <${Forecast} plan=${plan} />
    <${DifferenceMap} path=${path} forecast=${plan.forecast} />
    <div class="sides">
      <${Countries} countries=${plan.examples.countries} />
      <${Places} examples=${plan.examples} />
    </div>
    ${
      caller.scopes.includes('operate')
        ? html`<${Decide} runId=${runId} plan=${plan} onMoved=${review.reload} />`
        : html`<p class="help">An operator decides with one of these commands: <code>bin/farewatch runs approve ${runId}</code>, <code>bin/farewatch runs reject ${runId}</code></p>`
    }
  `,
  )
}

/** The held list of the other kind is decided by itself, and availability is that of routes. @param {{ run: HeldRun }} props */
function OtherHeld({ run }) {
  const held = useAnswer('/held-runs', EVERY_MS)
  const other = held.data?.items.find(({ list }) => list !== run.list)
  if (other === undefined) return null
  return html`<p><${Badge} level="warn">${t.otherHeld(other.list)} <a href=${linkTo('runs', other.runId)}>${t.run(other.runId)}</a>.
    ${run.list === 'with-availability' && 'Decide about the routes first.'}<//></p>`
}

/** @param {{ plan: PlanReport }} props */
function Forecast({ plan: { list, liveBefore, missing, forecast } }) {
  /** @type {[string, number][]} */
  const moved =
    list === 'routes'
      ? [
          ['removed', forecast.removed],
          ['added', forecast.added],
        ]
      : [
          ['not bookable any more', forecast.lost],
          ['become bookable', forecast.gained],
        ]
  /** @type {[string, number][]} */
  const figures = [
    ['live before', liveBefore],
    [t.missing, missing],
    ...moved,
    ['live after', forecast.live],
  ]
  return html`<div class="figures">${figures.map(([label, n]) => html`<${Figure} label=${label}>${n.toLocaleString()}<//>`)}</div>`
}

/** All routes that the list would add and remove, on the present network. @param {{ path: `/held-runs/${string}`, forecast: PlanReport['forecast'] }} props */
function DifferenceMap({ path, forecast }) {
  const difference = useResource(
    (signal) => callApi(`${path}/difference`, { signal }),
    // Another forecast is another difference.
    [path, JSON.stringify(forecast)],
  )
  const network = useResource(() => readNetwork(new Date(serverNow() - 60_000), undefined), [path])
  const { steady, added, removed } = useMemo(
    () => linesOf(difference.data, network.data),
    [difference.data, network.data],
  )
  return html`
    ${difference.error && html`<${Failure} error=${difference.error} onRetry=${difference.reload} />`}
    <${NetworkMap} kind="middle" steady=${steady} added=${added} removed=${removed} label=${t.onMap(added.length, removed.length)} />
    <${Legend} keys=${{ live: 'stay', added: texts.map.legend.added, removed: t.missing }} />`
}

/** @param {HeldRunDifference | undefined} difference @param {Network | undefined} network */
function linesOf(difference, network) {
  const added = pairsOf(difference?.added ?? {})
  const removed = pairsOf(difference?.missing ?? {})
  const changed = new Set([...added, ...removed].map((pair) => pair.join(' ')))
  const steady = (network?.live ?? []).filter((pair) => !changed.has(pair.join(' ')))
  return { steady, added, removed }
}

/** @param {{ countries: { country: string, missing: number, live: number }[] }} props */
function Countries({ countries }) {
  if (countries.length === 0) return null
  return html`<section><h3>Where the missing routes are</h3>
    <ul class="plain-list countries">${countries.map(
      ({ country, missing, live }) => html`<li>${t.inCountry(country, missing, live)}
        <${Meter} share=${missing / live} label=${texts.percent(missing / live)} /></li>`,
    )}</ul></section>`
}

/** @param {{ examples: PlanReport['examples'] }} props */
function Places({ examples: { placesLost, placesChanged } }) {
  const named = (/** @type {Place} */ place) => `${nameOf(place)}, ${place.country}`
  return html`<section><h3>Places</h3>
    <p>${t.placesLost(placesLost.count)}</p>
    <ul class="plain-list">
      ${placesLost.places.map((place) => html`<li>${named(place)}</li>`)}
      ${placesChanged.map(({ before, after }) => html`<li>${named(before)} → ${named(after)}</li>`)}
    </ul></section>`
}

/** @param {{ runId: string, plan: PlanReport, onMoved: () => Promise<void> }} props */
function Decide({ runId, plan, onMoved }) {
  const [moved, setMoved] = useState(false)
  /** @type {`/held-runs/${string}`} */
  const path = `/held-runs/${encodeURIComponent(runId)}`
  const decide = async (
    /** @type {'approve' | 'reject'} */ verb,
    /** @type {string} */ question,
  ) => {
    setMoved(false)
    // What the person has read must be what would happen.
    const fresh = await callApi(path)
    if (JSON.stringify(fresh.plan.forecast) !== JSON.stringify(plan.forecast)) {
      setMoved(true)
      return onMoved()
    }
    if (!confirm(question)) return
    await callApi(`${path}/${verb}`, { method: 'POST' })
  }
  return html`<div class="buttons">
    <${Action} label="Approve" kind="primary" run=${() => decide('approve', askApprove(runId, plan))} />
    <${Action} label="Reject" kind="danger" run=${() => decide('reject', t.askReject(runId))} />
    ${moved && html`<p role="alert"><${Badge} level="warn">The forecast has changed. Read it again before you decide.<//></p>`}
  </div>`
}

/** @param {string} runId @param {PlanReport} plan */
function askApprove(runId, { list, forecast }) {
  return list === 'routes'
    ? t.askApprove(runId, forecast.removed, forecast.added)
    : t.askApproveAvailability(runId, forecast.lost, forecast.gained)
}
