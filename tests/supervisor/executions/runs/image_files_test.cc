// Pictures that a program left in its workspace: which become images of its answer.
#include "supervisor/executions/runs/image_files.h"

#include "supervisor/base/base64.h"
#include "tests/supervisor/tenants/scene.h"

using namespace std::string_literals;

namespace {

const std::string kPng = "\x89PNG\r\n\x1A\n"s, kJpeg = "\xFF\xD8\xFF"s, kGif = "GIF89a"s, kWebp = "RIFF\0\0\0\0WEBP"s;

struct PictureScene : Scene {
  tenants::Changes changes;
  std::vector<jail::GuestImage> images;

  PictureScene() : Scene({16 << 20, 1000}) {}
  void create(const std::string& name, const std::string& bytes) {
    put(inside / name, bytes);
    changes.created.paths.push_back(name);
  }
  void append() { runs::append_image_files(images, *workspace, changes); }
  std::vector<std::string> types() const {
    std::vector<std::string> all;
    for (const auto& image : images) all.push_back(image.mime);
    return all;
  }
};

using Types = std::vector<std::string>;

}  // namespace

TEST_CASE("the name's ending selects pictures, and the first bytes give the type", "[images]") {
  PictureScene scene;
  scene.create("a.png", kPng + "1");
  scene.create("b.jpeg", kJpeg + "2");
  scene.create("c.gif", kGif + "3");
  scene.create("d.webp", kWebp + "4");
  scene.append();
  CHECK(scene.types() == Types{"image/png", "image/jpeg", "image/gif", "image/webp"});
  CHECK(scene.images[0].base64 == to_base64(kPng + "1"));
}

TEST_CASE("a name that promises another type, or no picture, is no obstacle", "[images]") {
  PictureScene scene;
  scene.create("photo.png", kJpeg);
  scene.create("text.png", "no picture");
  scene.create("picture.txt", kPng);
  scene.create("noending", kPng);
  scene.create("empty.jpg", "");
  scene.append();
  CHECK(scene.types() == Types{"image/jpeg"});
}

TEST_CASE("created pictures come before modified ones, and four are the most", "[images]") {
  PictureScene scene;
  scene.put(scene.inside / "old.gif", kGif);
  scene.changes.modified.paths = {"old.gif"};
  for (const char* name : {"1.png", "2.png", "3.png"}) scene.create(name, kPng + name);
  SECTION("there is room for the modified one") {
    scene.append();
    CHECK(scene.types() == Types{"image/png", "image/png", "image/png", "image/gif"});
  }
  SECTION("there is no room") {
    for (const char* name : {"4.png", "5.png"}) scene.create(name, kPng + name);
    scene.append();
    CHECK(scene.images.size() == runs::kMaxImageFiles);
    CHECK(scene.images.back().base64 == to_base64(kPng + "4.png"));
  }
}

TEST_CASE("a picture that the program also answered with is there once", "[images]") {
  PictureScene scene;
  scene.images.push_back({"image/png", to_base64(kPng + "shown")});
  scene.create("plot.png", kPng + "shown");
  scene.create("copy.png", kPng + "shown");
  for (const char* name : {"1.png", "2.png", "3.png", "4.png"}) scene.create(name, kPng + name);
  scene.append();
  CHECK(scene.images.size() == 1 + runs::kMaxImageFiles);  // the guest's own picture has its own bound
  CHECK(scene.images[1].base64 == to_base64(kPng + "1.png"));
}

TEST_CASE("large, missing and foreign files are left out", "[images]") {
  PictureScene scene;
  scene.create("most.png", kPng + std::string(runs::kMaxImageBytes - kPng.size(), 'x'));
  scene.create("large.png", kPng + std::string(runs::kMaxImageBytes - kPng.size() + 1, 'x'));
  scene.put(scene.outside / "secret.png", kPng + "secret");
  std::filesystem::create_symlink(scene.outside / "secret.png", scene.inside / "link.png");
  std::filesystem::create_directories(scene.inside / "folder.png");
  for (const char* name : {"link.png", "../outside/secret.png", "/etc/a.png", "gone.png", "folder.png"})
    scene.changes.created.paths.push_back(name);
  scene.append();
  REQUIRE(scene.images.size() == 1);
  CHECK(scene.images[0].base64.size() == to_base64(std::string(runs::kMaxImageBytes, 'x')).size());
}
