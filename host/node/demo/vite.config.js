import { defineConfig } from 'vite';

export default defineConfig({
  base: './',
  build: { target: 'es2023', chunkSizeWarningLimit: 2_000 },
  worker: { format: 'es' },
  // The component is a separate file next to the page.
  server: { fs: { allow: ['..'] } },
});
