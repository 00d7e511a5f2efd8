import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { expect, it } from 'vitest'
import { loadConfig, SETTINGS } from '../../src/config/config.ts'

const EXAMPLE = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8')
/** A setting as the example shows it: what it is about, and its default, both as comments. */
const SETTING = /^# (?<about>.+)\n#(?<name>[A-Z_]+)=(?<preset>.*)$/gm

it('.env.example shows every setting, in order, with what it is about and its default', () => {
  const shown = [...EXAMPLE.matchAll(SETTING)].map(({ groups }) => ({ ...groups }))

  expect(shown).toEqual(
    Object.entries(SETTINGS).map(([name, { about, secret, preset }]) => ({
      about: secret ? `${about}; or ${name}_FILE` : about,
      name,
      preset: String(preset ?? ''),
    })),
  )
})

it('.env.example sets nothing as it is', () => {
  expect(parseEnv(EXAMPLE)).toEqual({})
})

it('.env.example with all its settings set is the configuration of somebody who sets none', () => {
  const allSet = parseEnv(EXAMPLE.replace(/^#(?=[A-Z])/gm, ''))

  expect(new Set(Object.keys(allSet))).toEqual(new Set(Object.keys(SETTINGS)))
  expect(loadConfig(allSet, '/nowhere')).toEqual(loadConfig({}, '/nowhere'))
})
