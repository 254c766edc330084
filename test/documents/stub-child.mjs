// A reading process that a file has taken over: it never answers, fills its memory, or ends.
process.on('disconnect', () => process.exit(0))
process.once('message', ({ bytes }) => {
  const wish = Buffer.from(bytes).toString()
  if (wish.includes('loop')) for (;;);
  if (wish.includes('fill')) {
    const held = []
    for (;;) held.push(Buffer.alloc(64 * 2 ** 20, 1))
  }
  if (wish.includes('crash')) process.abort()
  if (wish.includes('environment')) process.send({ document: { type: 'html', text: JSON.stringify(process.env), title: '', pages: [] } })
})
