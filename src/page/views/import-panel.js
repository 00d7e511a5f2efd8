/** @import { SavedWatches } from '../api-types.ts' */
import { useState } from 'preact/hooks'
import { typed } from '../hooks.js'
import { Action, Badge, FaultList, html } from '../parts.js'
import { callApi, ProblemError } from '../session.js'
import { texts } from '../texts.js'

const t = texts.import

/**
 * Imports a CSV file that is dropped or chosen: first shows what it would change, then asks.
 * @param {{ current: string | undefined, onImported: (list: string) => void }} props
 */
export function ImportPanel({ current, onImported }) {
  const [file, setFile] = useState(
    /** @type {{ given: File, key: number } | undefined} */ (undefined),
  )
  const [over, setOver] = useState(false)
  const take = (/** @type {File | undefined} */ given) => {
    setOver(false)
    if (given !== undefined) setFile({ given, key: (file?.key ?? 0) + 1 })
  }
  const drop = (/** @type {DragEvent} */ event) => {
    event.preventDefault()
    take(event.dataTransfer?.files[0])
  }
  const drag = (/** @type {DragEvent} */ event) => {
    event.preventDefault()
    setOver(true)
  }
  const choose = (/** @type {{ currentTarget: HTMLInputElement }} */ event) => {
    take(event.currentTarget.files?.[0])
    // The same file can be chosen again after it was mended.
    event.currentTarget.value = ''
  }
  return html`<section class="drop ${over ? 'over' : ''}" aria-label=${t.import} onDrop=${drop} onDragOver=${drag} onDragLeave=${() => setOver(false)}>
    <label>${t.drop}
      <input type="file" accept=".csv,text/csv" onChange=${choose} /></label>
    ${
      file &&
      html`<${Preview} key=${file.key} file=${file.given} list=${current ?? 'watches'}
      onEnd=${(/** @type {string | undefined} */ imported) => {
        setFile(undefined)
        if (imported !== undefined) onImported(imported)
      }} />`
    }
  </section>`
}

/** @param {{ file: File, list: string, onEnd: (imported?: string) => void }} props */
function Preview({ file, list, onEnd }) {
  const [name, setName] = useState(list)
  const [plan, setPlan] = useState(/** @type {SavedWatches | undefined} */ (undefined))
  const send = async () => {
    const dryRun = plan === undefined
    const csv = await file.arrayBuffer().catch(() => {
      throw new ProblemError(0, { detail: t.unreadable })
    })
    const answer = await callApi(
      `/watch-lists/${encodeURIComponent(name)}/watches?createList=true&dryRun=${dryRun}`,
      { method: 'POST', csv },
    )
    if (dryRun) setPlan(answer)
    else onEnd(name)
  }
  const rename = typed((given) => {
    setName(given)
    setPlan(undefined)
  })
  return html`<div class="preview">
    <label>${t.into} <input value=${name} onInput=${rename} /></label>
    ${plan && html`<${Plan} plan=${plan} />`}
    <div class="buttons">
      <${Action} label=${plan ? t.import : t.preview(file.name)} kind="primary" run=${send}
        disabled=${plan ? plan.added + plan.changed === 0 : name.trim() === ''} />
      <button type="button" onClick=${() => onEnd()}>${texts.cancel}</button>
    </div>
  </div>`
}

/** What an import would do. @param {{ plan: SavedWatches }} props */
function Plan({ plan }) {
  const { added, changed, cleared, ended, warnings } = plan
  return html`<div role="status">
    <p><${Badge} level=${added + changed === 0 ? 'idle' : 'good'}>${added + changed === 0 ? t.nothing : t.plan(plan)}<//></p>
    ${cleared > 0 && html`<p><${Badge} level="warn">${t.cleared(cleared)}<//></p>`}
    ${ended > 0 && html`<p><${Badge} level="warn">${t.ended(ended)}<//></p>`}
    ${warnings.length > 0 && html`<p><${Badge} level="warn">${t.warnings}<//></p><${FaultList} faults=${warnings} />`}
  </div>`
}
