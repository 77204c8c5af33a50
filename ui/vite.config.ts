// How the dashboard is built: one page, one worker, no inline script or style (the server's Content-Security-Policy allows none).
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

// Where `npm run dev` sends calls of the API: the fixture server, or a real `convoke serve`.
const server = process.env.CONVOKE_SERVER ?? 'http://127.0.0.1:4790';

export default defineConfig({
  plugins: [
    svelte({
      compilerOptions: {
        // By content: a name that comes from the file's path would differ between two checkouts.
        cssHash: ({ hash, css }) => `c${hash(css)}`,
      },
    }),
  ],
  base: '/',
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    cssCodeSplit: false,
  },
  worker: { format: 'es' },
  server: { proxy: { '/api': server } },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
