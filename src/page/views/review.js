import { useMemo, useState } from 'preact/hooks'
import { linkTo, useAction, useResource } from '../hooks.js'
import { html } from '../html.js'
import { useRuns } from '../live.js'
import { pairsOf, readNetwork } from '../map/network.js'
import { NetworkMap } from '../map/network-map.js'
import { Action, Badge, Failure, Figure, Legend, Loaded, Meter } from '../parts.js'
import { callApi, serverNow } from '../session.js'
import { texts } from '../texts.js'
import { Clock } from '../times.js'

/** What is suspicious about a held list, what approving it would do, and the decision. @param {{ runId: string, mayDecide: boolean, onDecided: () => void }} props */
export function Review({ runId, mayDecide, onDecided }) {
  const path = `/held-runs/${encodeURIComponent(runId)}`
  const review = useResource((signal) => callApi(path, { signal }), [path])
  // A later list changes what approving would do.
  useRuns(review.reload)
  return html`<${Loaded} of=${review}>${(
    /** @type {any} */ { run, plan, lastAcceptedAt, isLikelyReal },
  ) => html`
    ${run.lists > 1 && html`<p>${texts.runs.agree(run.lists)} <${Clock} at=${run.since} />.</p>`}
    ${run.rejectedAt && html`<p>${texts.runs.rejectedBefore} <${Clock} at=${run.rejectedAt} />.</p>`}
    ${isLikelyReal && html`<p><${Badge} level="warn">${texts.runs.likelyReal}<//> <${Clock} at=${lastAcceptedAt} /></p>`}
    <${OtherHeld} run=${run} />
    <h3>${texts.runs.ifApproved}</h3>
    ${plan.verdict === null && html`<p>${texts.runs.notSuspicious}</p>`}
    <${Forecast} plan=${plan} />
    <${DifferenceMap} path=${path} forecast=${plan.forecast} />
    <div class="sides">
      <${Countries} countries=${plan.examples.countries} />
      <${Places} examples=${plan.examples} />
    </div>
    ${
      mayDecide
        ? html`<${Decide} runId=${runId} plan=${plan} onChanged=${review.reload} onDecided=${onDecided} />`
        : html`<p class="help">${texts.runs.toDecide} <code>bin/farewatch runs approve ${runId}</code>, <code>bin/farewatch runs reject ${runId}</code></p>`
    }
  `}<//>`
}

/** The held list of the other kind is decided by itself, and availability is that of routes. @param {{ run: any }} props */
function OtherHeld({ run }) {
  const held = useResource((signal) => callApi('/held-runs', { signal }), [run.runId])
  useRuns(held.reload)
  const other = (held.data?.items ?? []).find((/** @type {any} */ { list }) => list !== run.list)
  if (other === undefined) return null
  return html`<p><${Badge} level="warn">${texts.runs.otherHeld(other.list)} <a href=${linkTo('runs', String(other.runId))}>${texts.runs.run(other.runId)}</a>.
    ${run.list === 'with-availability' && texts.runs.routesFirst}<//></p>`
}

/** @param {{ plan: any }} props */
function Forecast({ plan: { list, liveBefore, missing, forecast } }) {
  const moved =
    list === 'routes'
      ? [
          [texts.runs.removed, forecast.removed],
          [texts.runs.added, forecast.added],
        ]
      : [
          [texts.runs.lost, forecast.lost],
          [texts.runs.gained, forecast.gained],
        ]
  const figures = [
    [texts.runs.liveBefore, liveBefore],
    [texts.runs.missing, missing],
    ...moved,
    [texts.runs.liveAfter, forecast.live],
  ]
  return html`<div class="figures">${figures.map(([label, n]) => html`<${Figure} label=${label}>${n.toLocaleString()}<//>`)}</div>`
}

/** All routes that the list would add and remove, on the present network. @param {{ path: string, forecast: any }} props */
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
    <${NetworkMap} kind="middle" steady=${steady} added=${added} removed=${removed} label=${texts.runs.onMap(added.length, removed.length)} />
    <${Legend} keys=${{ live: texts.runs.kept, added: texts.map.legend.added, removed: texts.runs.missing }} />`
}

/** @param {any} difference @param {import('../map/network.js').Network | undefined} network */
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
  return html`<section><h3>${texts.runs.where}</h3>
    <ul class="plain-list countries">${countries.map(
      ({ country, missing, live }) => html`<li>${texts.runs.inCountry(country, missing, live)}
        <${Meter} share=${missing / live} label=${texts.percent(missing / live)} /></li>`,
    )}</ul></section>`
}

/** @param {{ examples: any }} props */
function Places({ examples: { placesLost, placesChanged } }) {
  const nameOf = (/** @type {any} */ { iata, id, city, country }) =>
    `${iata || id} ${city}, ${country}`
  return html`<section><h3>${texts.runs.places}</h3>
    <p>${texts.runs.placesLost(placesLost.count)}</p>
    <ul class="plain-list">
      ${placesLost.places.map((/** @type {any} */ place) => html`<li>${nameOf(place)}</li>`)}
      ${placesChanged.map((/** @type {any} */ { before, after }) => html`<li>${nameOf(before)} → ${nameOf(after)}</li>`)}
    </ul></section>`
}

/** @param {{ runId: string, plan: any, onChanged: () => void, onDecided: () => void }} props */
function Decide({ runId, plan, onChanged, onDecided }) {
  const { busy, error, run } = useAction()
  const [moved, setMoved] = useState(false)
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
      return onChanged()
    }
    if (!confirm(question)) return
    await callApi(`${path}/${verb}`, { method: 'POST' })
    onDecided()
  }
  return html`<div class="buttons">
    <${Action} label=${texts.runs.approve} kind="primary" busy=${busy} onClick=${() => run(() => decide('approve', askApprove(runId, plan)))} />
    <${Action} label=${texts.runs.reject} kind="danger" busy=${busy} onClick=${() => run(() => decide('reject', texts.runs.askReject(runId)))} />
    ${moved && html`<p role="alert"><${Badge} level="warn">${texts.runs.moved}<//></p>`}
    ${error && html`<${Failure} error=${error} />`}
  </div>`
}

/** @param {string} runId @param {any} plan */
function askApprove(runId, { list, forecast }) {
  return list === 'routes'
    ? texts.runs.askApprove(runId, forecast.removed, forecast.added)
    : texts.runs.askApproveAvailability(runId, forecast.lost, forecast.gained)
}
