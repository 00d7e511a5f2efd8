import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { signedHeaders } from '../../src/delivery/formats/webhook.ts'

const PAGE = readFileSync(new URL('../../docs/reference/webhooks.md', import.meta.url), 'utf8')
const folder = mkdtempSync(path.join(os.tmpdir(), 'farewatch-snippets-'))
afterAll(() => rmSync(folder, { recursive: true }))

const secretOf = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`
const BODY = '{"type":"webhook.test","data":{"city":"Málaga"}}'

function casesOf() {
  const now = new Date()
  const secrets = [secretOf(1), secretOf(2)]
  const headers = signedHeaders('id-1', BODY, { secrets, now })
  const old = signedHeaders('id-1', BODY, { secrets, now: new Date(now.getTime() - 600_000) })
  return [
    { headers, body: BODY, secret: secretOf(1), valid: true },
    { headers, body: BODY, secret: secretOf(2), valid: true },
    { headers, body: BODY, secret: secretOf(3), valid: false },
    { headers, body: `${BODY} `, secret: secretOf(1), valid: false },
    {
      headers: { ...headers, 'webhook-id': 'id-2' },
      body: BODY,
      secret: secretOf(1),
      valid: false,
    },
    {
      headers: { ...headers, 'webhook-timestamp': 'x' },
      body: BODY,
      secret: secretOf(1),
      valid: false,
    },
    { headers: old, body: BODY, secret: secretOf(1), valid: false },
  ]
}

/** Programs that read the cases and print a line for each, around the code of the page. */
const PROGRAMS = {
  ts: {
    command: [process.execPath, 'verify.ts'],
    file: 'verify.ts',
    around: (code: string) => `${code}
import { readFileSync } from 'node:fs'
for (const { headers, body, secret } of JSON.parse(readFileSync('cases.json', 'utf8')))
  console.log(verify(headers, body, secret))`,
  },
  python: {
    command: ['python3', 'verify.py'],
    file: 'verify.py',
    around: (code: string) => `${code}
import json
for case in json.load(open("cases.json", encoding="utf-8")):
    print(str(verify(case["headers"], case["body"].encode(), case["secret"])).lower())`,
  },
  php: {
    command: ['php', 'verify.php'],
    file: 'verify.php',
    around: (code: string) => `<?php
${code}
foreach (json_decode(file_get_contents('cases.json'), true) as $case) {
    echo verify($case['headers'], $case['body'], $case['secret']) ? "true\\n" : "false\\n";
}`,
  },
  go: {
    command: ['go', 'run', 'verify.go'],
    file: 'verify.go',
    around: (code: string) => `${code.replace(
      'package webhook',
      'package main\nimport ("encoding/json"; "fmt"; "os")',
    )}
func main() {
	var cases []struct { Headers map[string]string; Body, Secret string }
	text, _ := os.ReadFile("cases.json")
	json.Unmarshal(text, &cases)
	for _, one := range cases {
		headers := http.Header{}
		for name, value := range one.Headers { headers.Set(name, value) }
		fmt.Println(Verify(headers, []byte(one.Body), one.Secret))
	}
}`,
  },
} as const

describe('the code of the page about webhooks', () => {
  it.for(Object.keys(PROGRAMS) as (keyof typeof PROGRAMS)[])(
    'the function in %s verifies both secrets and refuses all else',
    (language, { skip }) => {
      const { command, file, around } = PROGRAMS[language]
      if (spawnSync(command[0], ['--version']).error !== undefined) skip('not installed')
      const [, code = ''] = new RegExp(`\`\`\`${language}\n(.*?)\n\`\`\``, 's').exec(PAGE) ?? []
      const cases = casesOf()
      writeFileSync(path.join(folder, file), around(code))
      writeFileSync(path.join(folder, 'cases.json'), JSON.stringify(cases))

      const { stdout, stderr } = spawnSync(command[0], command.slice(1), { cwd: folder })

      expect(String(stdout).trim().split('\n'), String(stderr)).toEqual(
        cases.map(({ valid }) => String(valid)),
      )
    },
  )
})
