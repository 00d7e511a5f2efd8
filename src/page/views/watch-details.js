import { useState } from 'preact/hooks'
import { hiddenText, stateLevel, stateName } from '../describe.js'
import { linkTo, linkWithin, useAction, useResource } from '../hooks.js'
import { html } from '../html.js'
import { Action, Badge, Failure, Loaded } from '../parts.js'
import { callApi } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Clock } from '../times.js'
import { vocabulary } from '../vocabulary.js'
import { FarePage } from './fare.js'
import { WatchForm } from './watch-form.js'

const SHOWN_RECORDS = 50

/**
 * One watch: its belief, its next check, its prices, its records, and what was believed before.
 * @param {{ list: string, reference: string, canWatch: boolean }} props
 */
export function WatchDetails({ list, reference, canWatch }) {
  const path = `/watch-lists/${encodeURIComponent(list)}/watches/${encodeURIComponent(reference)}`
  const found = useResource(
    async (signal) => {
      const [watch, timeline, changes] = await Promise.all([
        callApi(path, { signal }),
        callApi(`${path}/timeline?limit=500`, { signal }),
        recordsOf(list, reference, signal),
      ])
      return { watch, timeline: timeline.items, changes }
    },
    [path],
    { everyMs: 15_000 },
  )
  return html`<section aria-label=${reference}>
    <a class="back" href=${linkWithin('watches', list)}>‹ ${list}</a>
    <${Loaded} of=${found}>${(/** @type {any} */ { watch, timeline, changes }) => html`
      <${FarePage} fare=${watch} timeline=${timeline} changes=${changes} canWatch=${canWatch} title=${reference}
        state=${html`<${WatchState} watch=${watch} />`}>
        ${canWatch && html`<${Buttons} list=${list} path=${path} watch=${watch} onChanged=${found.reloaded} />`}
        ${canWatch && !watch.route && html`<${Links} path=${`${path}/links`} />`}
      <//>
    `}<//>
  </section>`
}

/** The links that show the watch to people without a key. A new one is shown once. @param {{ path: string }} props */
function Links({ path }) {
  const open = useResource((signal) => callApi(path, { signal }), [path])
  const { busy, error, run } = useAction()
  const [made, setMade] = useState('')
  const t = texts.links
  const make = async () => {
    const { url, path: address } = await callApi(path, { method: 'POST', body: {} })
    setMade(url ?? `${location.origin}${address}`)
    open.reload()
  }
  const revoke = async () => {
    await callApi(path, { method: 'DELETE' })
    setMade('')
    open.reload()
  }
  return html`<${Loaded} of=${open}>${(/** @type {any} */ { items }) => html`<div class="buttons">
    <${Action} label=${t.make} busy=${busy} onClick=${() => run(make)} />
    ${
      items.length > 0 &&
      html`<span class="muted">${t.open(items.length)} <${Clock} at=${items.at(-1).expiresAt} /></span>
      <${Action} label=${t.revoke} kind="danger" busy=${busy} onClick=${() => run(revoke)} />`
    }
    ${error && html`<${Failure} error=${error} />`}
  </div>
  ${
    made &&
    html`<div class="notice secret" role="status"><p>${t.made} <a href=${made} target="_blank" rel="noreferrer">${made}</a></p>
    ${navigator.clipboard && html`<button type="button" onClick=${() => navigator.clipboard.writeText(made)}>${texts.endpointActions.copy}</button>`}</div>`
  }`}<//>`
}

/** The last records of a watch, newest first. @param {string} list @param {string} reference @param {AbortSignal} signal */
async function recordsOf(list, reference, signal) {
  const { first } = await callApi('/watch-changes?limit=1', { signal })
  const of = new URLSearchParams({ list, reference, after: String(first - 1), limit: '1000' })
  const { items } = await callApi(`/watch-changes?${of}`, { signal })
  return items.slice(-SHOWN_RECORDS).reverse()
}

/** @param {{ watch: any }} props */
export function WatchState({ watch }) {
  const { status, belief, hiddenReason } = watch
  const hasState = status === 'followed' && watch.route === null
  return html`<${Badge} level=${hiddenReason || status === 'stale' ? 'warn' : hasState ? stateLevel(belief.state) : 'idle'}>
    ${hiddenReason ? hiddenText(watch) : hasState ? stateName(belief.state) : textOf(vocabulary.statuses, status)}<//>`
}

/** @param {{ list: string, path: string, watch: any, onChanged: () => Promise<void> }} props */
function Buttons({ list, path, watch, onChanged }) {
  const { busy, error, run } = useAction()
  const [editing, setEditing] = useState(false)
  const verb = watch.pausedAt === null && watch.status !== 'expired' ? 'pause' : 'resume'
  const toggle = async () => {
    const body = { references: [watch.reference] }
    await callApi(`/watch-lists/${encodeURIComponent(list)}/${verb}`, { method: 'POST', body })
    await onChanged()
  }
  const remove = async () => {
    await callApi(path, { method: 'DELETE' })
    location.hash = linkTo('watches', list)
  }
  if (editing) {
    return html`<${WatchForm} list=${list} path=${path} watch=${watch} onEnd=${async (
      /** @type {string | undefined} */ saved,
    ) => {
      if (saved !== undefined) await onChanged()
      setEditing(false)
    }} />`
  }
  return html`<div class="buttons">
    <button type="button" onClick=${() => setEditing(true)}>${texts.watch.edit}</button>
    <${Action} label=${verb === 'pause' ? texts.watch.pause : texts.watch.resume} busy=${busy} onClick=${() => run(toggle)} />
    <${Action} label=${texts.watch.remove} kind="danger" busy=${busy}
      onClick=${() => confirm(texts.watch.askRemove(watch.reference, list)) && run(remove)} />
    ${error && html`<${Failure} error=${error} />`}
  </div>`
}
